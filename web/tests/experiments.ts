/** Experiments that several tests open. */

/** A fast link with as many flows as a picture must keep up with. */
export const FAST = `title = "500 flows"
duration = "60s"
[topology]
rate = "100mbit"
delay = "20ms"
aqm = { name = "pie", limit = 2000 }
[[traffic]]
kind = "bulk"
flows = 500
stagger = "1s"
`;

/** A link with a few downloads. */
export const LINK = `title = "x"
duration = "60s"
[topology]
rate = "10mbit"
aqm = "red"
[[traffic]]
kind = "bulk"
flows = 4
`;

/** The same with a control that no first look at the page has. */
export const UNCOMMON = LINK.replace("flows = 4", 'flows = 4\ntransport = { congestion = "bbr" }');
