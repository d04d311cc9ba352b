//! An assembler of BPF instructions, with labels for jumps (`Documentation/bpf/standardization/instruction-set.rst`).

/// A register. `R0` holds the return value, `R1` to `R5` hold arguments and are clobbered by calls, `R6` to
/// `R9` are callee-saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reg {
    R0,
    R1,
    R2,
    R3,
    R6 = 6,
}

/// An operand: a register or a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    /// A register operand.
    Of(Reg),
    /// An immediate operand.
    Is(i32),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Operand::Of(reg)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Self {
        Operand::Is(number)
    }
}

/// The size of a memory access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    U8 = 0x10,
    U32 = 0x00,
    U64 = 0x18,
}

/// A 64-bit operation; [`Code::sub32`] is a 32-bit subtraction, which wraps like sequence numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Sub = 0x10,
    Mul = 0x20,
    Div = 0x30,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Add = 0x00,
    Set = 0xb0,
}

/// Jump conditions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    Equal = 0x10,
    AtLeast = 0x30,
    NotEqual = 0x50,
}

/// A label in the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label(usize);

/// A function under construction.
#[derive(Debug, Default)]
pub(crate) struct Code {
    words: Vec<u64>,
    /// Instruction index of each label.
    places: Vec<usize>,
    /// Index of each jump, and its target label.
    jumps: Vec<(usize, Label)>,
}

const ALU32: u8 = 0x04;
const JUMP: u8 = 0x05;
const JUMP32: u8 = 0x06;
const ALU64: u8 = 0x07;
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const BY_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const LOAD_64: u8 = 0x18;

/// `BPF_PSEUDO_MAP_FD` as source register: the immediate is a map's file descriptor.
const A_MAP: u8 = 1;
/// `BPF_PSEUDO_KFUNC_CALL` as source register: the immediate is the BTF id of a kernel function.
const A_FUNCTION: u8 = 2;

/// Encodes `struct bpf_insn`.
const fn instruction(code: u8, source: u8, destination: u8, offset: i16, number: i32) -> u64 {
    let registers = (source << 4 | destination) as u64;
    code as u64 | registers << 8 | (offset as u16 as u64) << 16 | (number as u32 as u64) << 32
}

impl Code {
    /// `to = *(base + offset)`.
    pub(crate) fn load(&mut self, size: Size, to: Reg, base: Reg, offset: i16) {
        self.words.push(instruction(LOAD | size as u8, base as u8, to as u8, offset, 0));
    }

    /// `*(base + offset) = from`.
    pub(crate) fn store(&mut self, size: Size, base: Reg, offset: i16, from: Reg) {
        self.words.push(instruction(STORE | size as u8, from as u8, base as u8, offset, 0));
    }

    /// `to = to op by`.
    pub(crate) fn compute(&mut self, op: Op, to: Reg, by: impl Into<Operand>) {
        self.operate(ALU64 | op as u8, to, by.into(), 0);
    }

    /// `to = by`.
    pub(crate) fn set(&mut self, to: Reg, by: impl Into<Operand>) {
        self.compute(Op::Set, to, by);
    }

    /// `to = to - by` in 32 bits, which wraps.
    pub(crate) fn sub32(&mut self, to: Reg, by: Reg) {
        self.operate(ALU32 | Op::Sub as u8, to, by.into(), 0);
    }

    fn operate(&mut self, code: u8, to: Reg, by: Operand, offset: i16) {
        self.words.push(match by {
            Operand::Of(reg) => instruction(code | BY_REGISTER, reg as u8, to as u8, offset, 0),
            Operand::Is(number) => instruction(code, 0, to as u8, offset, number),
        });
    }

    /// A new label, placed by [`Code::here`].
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(0);
        Label(self.places.len() - 1)
    }

    /// Places the label before the next instruction.
    pub(crate) fn here(&mut self, label: Label) {
        self.places[label.0] = self.words.len();
    }

    /// `if left when right goto label`.
    pub(crate) fn jump(&mut self, when: When, left: Reg, right: impl Into<Operand>, label: Label) {
        self.jumps.push((self.words.len(), label));
        self.operate(JUMP | when as u8, left, right.into(), 0);
    }

    /// `if left < 0 goto label`, as a signed 32-bit comparison.
    pub(crate) fn jump_negative(&mut self, left: Reg, label: Label) {
        const LESS: u8 = 0xc0;
        self.jumps.push((self.words.len(), label));
        self.operate(JUMP32 | LESS, left, Operand::Is(0), 0);
    }

    /// Calls a kernel helper by its number.
    pub(crate) fn call_helper(&mut self, number: i32) {
        self.words.push(instruction(CALL, 0, 0, 0, number));
    }

    /// Calls a kernel function (kfunc) by its BTF id.
    pub(crate) fn call_function(&mut self, id: u32) {
        self.words.push(instruction(CALL, A_FUNCTION, 0, 0, id as i32));
    }

    /// `to` = the map with this file descriptor.
    pub(crate) fn map(&mut self, to: Reg, descriptor: i32) {
        self.words.push(instruction(LOAD_64, A_MAP, to as u8, 0, descriptor));
        self.words.push(0);
    }

    /// Returns the value in `R0`.
    pub(crate) fn exit(&mut self) {
        self.words.push(instruction(EXIT, 0, 0, 0, 0));
    }

    /// The encoded instructions, with all jump offsets resolved.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        for (from, label) in self.jumps {
            let distance = (self.places[label.0] as i64 - from as i64 - 1) as i16;
            self.words[from] |= u64::from(distance as u16) << 16;
        }
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_laid_out_as_the_kernel_reads_them() {
        let mut code = Code::default();
        let end = code.label();
        code.load(Size::U32, Reg::R2, Reg::R1, 16);
        code.jump(When::NotEqual, Reg::R2, 7, end);
        code.compute(Op::ShiftRight, Reg::R2, 4);
        code.sub32(Reg::R2, Reg::R1);
        code.store(Size::U8, Reg::R1, -1, Reg::R2);
        code.call_helper(51);
        code.here(end);
        code.exit();
        // As emitted by clang.
        let expected: [[u8; 8]; 7] = [
            [0x61, 0x12, 0x10, 0, 0, 0, 0, 0],
            [0x55, 0x02, 0x04, 0, 7, 0, 0, 0],
            [0x77, 0x02, 0, 0, 4, 0, 0, 0],
            [0x1c, 0x12, 0, 0, 0, 0, 0, 0],
            [0x73, 0x21, 0xff, 0xff, 0, 0, 0, 0],
            [0x85, 0, 0, 0, 51, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(code.finish().iter().map(|w| w.to_le_bytes()).collect::<Vec<_>>(), expected);
    }
}
