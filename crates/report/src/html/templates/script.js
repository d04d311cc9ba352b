"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const settings = { responsive: true, displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  // Pixels of a sheet of A4 or letter within its margins: its width, half of it where plots are printed in two columns, and the height of a plot below a heading.
  // Of the plots of single disciplines, two fit on a sheet.
  const SHEET = { whole: 680, half: 320, height: 820, shared: 270 };
  const halved = (figure) => document.body.classList.contains("card") || (figure.closest(".grid:not(.wide)") && !figure.closest(".across"));
  const font = getComputedStyle(document.body).fontFamily;

  // The colours of text and axes are those of the page, light or dark.
  const themed = (layout) => {
    const page = { ...layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
    page.font = { ...layout.font, family: font, color: color("--ink") };
    page.hoverlabel = { bgcolor: color("--card"), bordercolor: color("--line"), font: { color: color("--ink") } };
    page.legend = { ...layout.legend, bgcolor: "rgba(0,0,0,0)" };
    page.modebar = { bgcolor: "rgba(0,0,0,0)", color: color("--soft"), activecolor: color("--accent") };
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
      page[name] = { ...layout[name], gridcolor: color("--grid"), linecolor: color("--line") };
    }
    return page;
  };

  // `size` has the width and the largest height on paper; without it, the plot has the width of the page.
  const draw = (figure, size) => {
    figure.source ??= JSON.parse(figure.querySelector("script").textContent);
    if (!figure.place) {
      figure.place = figure.appendChild(document.createElement("div"));
      figure.place.ariaHidden = "true"; // the caption says the same in words
    }
    const layout = themed(figure.source.layout);
    const fixed = size && { width: size.width, height: Math.min(layout.height, size.height), autosize: false };
    Plotly.react(figure.place, figure.source.data, { ...layout, ...fixed }, settings);
    figure.drawn = true;
  };

  // The plotting library is in the page, compressed.
  const unpack = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(plain).text();
    document.head.append(script);
  };

  const figures = [...document.querySelectorAll("figure.plot")];
  const redraw = () => figures.filter((figure) => figure.drawn).forEach((figure) => draw(figure));
  const plot = () => {
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        near.unobserve(entry.target);
        draw(entry.target);
      }
    }, { rootMargin: "600px" });
    figures.forEach((figure) => near.observe(figure));
    dark.addEventListener("change", redraw);
    addEventListener("beforeprint", () => figures.forEach((figure) => draw(figure, { width: halved(figure) ? SHEET.half : SHEET.whole, height: figure.closest("#disciplines") ? SHEET.shared : SHEET.height })));
    addEventListener("afterprint", redraw);
  };
  const packed = document.getElementById("plotly").textContent;
  if (packed && figures.length > 0) {
    unpack(packed).then(plot);
  }

  // On paper, the meanings of columns are shown; other folded parts are left out.
  const meanings = document.querySelector(".meanings");
  if (meanings) {
    addEventListener("beforeprint", () => { meanings.dataset.was = String(meanings.open); meanings.open = true; });
    addEventListener("afterprint", () => { meanings.open = meanings.dataset.was === "true"; });
  }

  const buttons = [...document.querySelectorAll(".filter button")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      for (const row of document.querySelectorAll(".claims tbody tr")) {
        row.hidden = button.dataset.show !== "all" && row.dataset.state !== button.dataset.show;
      }
    });
  }

  // A run opens in the page of aqmkit play: beside this file, or in the text that is inside it.
  const chooser = document.querySelector("#player .player");
  if (chooser) {
    const link = chooser.querySelector("a");
    const inside = document.getElementById("player-page");
    const place = (name) => chooser.querySelector(`[name=${name}]`)?.selectedIndex ?? 0;
    const repeats = chooser.querySelector("[name=repeat]")?.length ?? 1;
    let page = "play.html";
    const point = () => {
      link.href = `${page}#${chooser.dataset.fragment}&run=${place("combination") * repeats + place("repeat")}`;
    };
    link.addEventListener("click", () => {
      if (inside && page === "play.html") page = URL.createObjectURL(new Blob([JSON.parse(inside.textContent)], { type: "text/html" }));
      point();
    });
    chooser.addEventListener("change", point);
    point();
  }

  const links = [...document.querySelectorAll("nav a")];
  const here = () => {
    const above = links.filter((link) => document.querySelector(link.hash).getBoundingClientRect().top < 120);
    links.forEach((link) => link.classList.toggle("here", link === above.at(-1)));
  };
  addEventListener("scroll", here, { passive: true });
  here();
})();
