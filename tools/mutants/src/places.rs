//! The places of a file that can be changed, and their replacements.
//!
//! Not changed: code that runs only in tests, expressions that the compiler evaluates (constants, `const fn`, lengths of arrays),
//! patterns, types, attributes, macros, and implementations of `Debug`.

use std::ops::Range;

use proc_macro2::TokenTree;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Lit, Stmt, UnOp};

use crate::operator::{Operator, exchanged, fractions, integers};

/// The kind of syntax that a change replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An expression, replaced by another of the same type.
    Expression,
    /// A whole statement, removed.
    Statement,
    /// An early return at the top of a function.
    Entry,
}

/// One change of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The range of bytes that it replaces; empty for an early return.
    pub bytes: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The replacement.
    pub instead: String,
    /// The kind of syntax.
    pub shape: Shape,
    /// The kind of change.
    pub operator: Operator,
    /// The function around it, in bytes.
    pub function: Range<usize>,
    /// The change as printed: `a < b -> a <= b`.
    pub change: String,
}

/// Every possible change of a file, in the order of the file.
pub fn places(text: &str) -> Result<Vec<Place>, syn::Error> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { text, found: Vec::new(), function: 0..text.len() };
    if !for_tests(&file.attrs) {
        finder.visit_file(&file);
    }
    finder.found.sort_by_key(|place| place.bytes.start);
    Ok(finder.found)
}

/// The modules of a file that are compiled for tests only and have their own files.
pub fn test_modules(text: &str) -> Result<Vec<String>, syn::Error> {
    let file = syn::parse_file(text)?;
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && for_tests(&module.attrs) => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    Ok(modules.collect())
}

/// Whether attributes restrict an item to tests.
fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| {
                    let tokens: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
                    matches!(tokens.as_slice(), [TokenTree::Ident(word)] if word == "test")
                })
    })
}

struct Finder<'a> {
    text: &'a str,
    found: Vec<Place>,
    function: Range<usize>,
}

impl Finder<'_> {
    fn add(&mut self, bytes: Range<usize>, instead: String, shape: Shape, operator: Operator, change: String) {
        let line = 1 + self.text[..bytes.start].matches('\n').count();
        self.found.push(Place { bytes, line, instead, shape, operator, function: self.function.clone(), change });
    }

    fn replace(&mut self, bytes: Range<usize>, instead: String, operator: Operator) {
        let change = format!("{} -> {}", brief(&self.text[bytes.clone()]), brief(&instead));
        self.add(bytes, instead, Shape::Expression, operator, change);
    }

    /// Replaces a binary operator by others.
    fn exchange(&mut self, whole: Range<usize>, operator: &Range<usize>) {
        let (left, right) = (&self.text[whole.start..operator.start], &self.text[operator.end..whole.end]);
        let was = &self.text[operator.clone()];
        let around = |between: &str| format!("{} {between} {}", tail(left), head(right));
        let changes: Vec<_> = exchanged(was)
            .iter()
            .map(|(kind, other)| {
                (*kind, format!("{left}{other}{right}"), format!("{} -> {}", around(was), around(other)))
            })
            .collect();
        for (kind, instead, change) in changes {
            self.add(whole.clone(), instead, Shape::Expression, kind, change);
        }
    }

    fn condition(&mut self, asked: &Expr, answers: &[&str]) {
        if !asks_a_pattern(asked) && asked.attrs_are_empty() {
            for answer in answers {
                self.replace(asked.span().byte_range(), (*answer).to_owned(), Operator::Condition);
            }
        }
    }

    fn literal(&mut self, bytes: Range<usize>, literal: &Lit) {
        let others = match literal {
            Lit::Int(n) => integers(n.base10_digits(), n.suffix()),
            Lit::Float(x) => fractions(x.base10_digits(), x.suffix()),
            _ => Vec::new(),
        };
        for other in others {
            self.replace(bytes.clone(), other, Operator::Constant);
        }
    }

    fn change_expression(&mut self, expression: &Expr) {
        let bytes = expression.span().byte_range();
        match expression {
            Expr::Binary(binary) if !asks_a_pattern(expression) => {
                self.exchange(bytes, &binary.op.span().byte_range());
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_)) => {
                let without = self.text[unary.expr.span().byte_range()].to_owned();
                self.replace(bytes, without, Operator::Unary);
            }
            Expr::Lit(literal) => self.literal(bytes, &literal.lit),
            Expr::If(choice) => self.condition(&choice.cond, &["true", "false"]),
            Expr::While(circle) => self.condition(&circle.cond, &["false"]),
            Expr::MethodCall(call) => {
                let other = match call.method.to_string().as_str() {
                    "min" => "max",
                    "max" => "min",
                    _ => return,
                };
                let method = call.method.span().byte_range();
                let (before, after) = (&self.text[bytes.start..method.start], &self.text[method.end..bytes.end]);
                let change =
                    format!("{}{}{} -> {}{other}{}", tail(before), call.method, head(after), tail(before), head(after));
                self.add(bytes, format!("{before}{other}{after}"), Shape::Expression, Operator::Extremum, change);
            }
            _ => {}
        }
    }

    /// Inserts early returns at the start of a function.
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block, attributes: &[Attribute]) {
        if signature.constness.is_some() || for_tests(attributes) {
            return;
        }
        let around = std::mem::replace(&mut self.function, block.span().byte_range());
        if answers_yes_or_no(&signature.output) {
            let top = block.brace_token.span.open().byte_range().end;
            for answer in ["true", "false"] {
                let change = format!("fn {} {{ .. }} -> {answer}", signature.ident);
                self.add(top..top, format!("return {answer};"), Shape::Entry, Operator::Answer, change);
            }
        }
        self.visit_block(block);
        self.function = around;
    }
}

/// Whether an expression has attributes, which the rewritten code would apply to another expression.
trait Attributes {
    fn attrs_are_empty(&self) -> bool;
}

impl Attributes for Expr {
    fn attrs_are_empty(&self) -> bool {
        match self {
            Self::Binary(e) => e.attrs.is_empty(),
            Self::Unary(e) => e.attrs.is_empty(),
            Self::Lit(e) => e.attrs.is_empty(),
            Self::MethodCall(e) => e.attrs.is_empty(),
            _ => true,
        }
    }
}

/// Whether a condition binds names (`if let`) and therefore cannot be replaced.
fn asks_a_pattern(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => asks_a_pattern(&binary.left) || asks_a_pattern(&binary.right),
        _ => false,
    }
}

fn answers_yes_or_no(output: &syn::ReturnType) -> bool {
    matches!(output, syn::ReturnType::Type(_, answer)
        if matches!(&**answer, syn::Type::Path(path) if path.path.is_ident("bool")))
}

/// Whether a statement can be removed: an assignment, or a call whose result is not used.
fn can_go(statement: &Stmt) -> bool {
    let Stmt::Expr(expression, Some(_)) = statement else { return false };
    let called = match expression {
        Expr::Try(tried) => &*tried.expr,
        other => other,
    };
    match called {
        Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_) => true,
        Expr::Binary(binary) => is_assignment(&binary.op),
        _ => false,
    }
}

fn is_assignment(operator: &syn::BinOp) -> bool {
    use syn::BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign, ShrAssign,
        SubAssign,
    };
    matches!(
        operator,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block, &function.attrs);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block, &function.attrs);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block, &function.attrs);
        }
    }

    fn visit_item_impl(&mut self, implementation: &'ast syn::ItemImpl) {
        let debug = implementation
            .trait_
            .as_ref()
            .is_some_and(|(path, ..)| path.segments.last().is_some_and(|segment| segment.ident == "Debug"));
        if !debug && !for_tests(&implementation.attrs) {
            visit::visit_item_impl(self, implementation);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if can_go(statement) {
            let bytes = statement.span().byte_range();
            let change = format!("{} -> left out", brief(&self.text[bytes.clone()]));
            self.add(bytes, String::new(), Shape::Statement, Operator::Statement, change);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        if expression.attrs_are_empty() {
            self.change_expression(expression);
        }
        visit::visit_expr(self, expression);
    }

    fn visit_expr_repeat(&mut self, array: &'ast syn::ExprRepeat) {
        self.visit_expr(&array.expr);
    }

    // What the compiler evaluates, what is no value, and what a macro makes of its words.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_path_arguments(&mut self, _: &'ast syn::PathArguments) {}
    fn visit_angle_bracketed_generic_arguments(&mut self, _: &'ast syn::AngleBracketedGenericArguments) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
}

/// The number of characters printed of each side of a change.
const SIDE: usize = 36;

/// A text on one line.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text on one line, with its middle removed if it is long.
fn brief(text: &str) -> String {
    let words = joined(text);
    if words.chars().count() <= 2 * SIDE { words } else { format!("{} .. {}", head(text), tail(text)) }
}

/// The beginning of a text.
fn head(text: &str) -> String {
    let words = joined(text);
    if words.chars().count() <= SIDE { words } else { words.chars().take(SIDE).chain("..".chars()).collect() }
}

/// The end of a text.
fn tail(text: &str) -> String {
    let words = joined(text);
    match words.chars().count().checked_sub(SIDE) {
        None | Some(0) => words,
        Some(cut) => "..".chars().chain(words.chars().skip(cut)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Vec<String> {
        places(text).unwrap().into_iter().map(|place| place.change).collect()
    }

    #[test]
    fn finds_each_kind() {
        assert_eq!(changes("fn f(a: u8, b: u8) -> u8 { a + b }"), ["a + b -> a - b"]);
        assert_eq!(changes("fn f(a: u8, b: u8) { g = a < b }"), ["a < b -> a <= b", "a < b -> a >= b"]);
        assert_eq!(changes("fn f(a: u8, b: u8) { a == b || a }"), ["a == b || a -> a == b && a", "a == b -> a != b"]);
        assert_eq!(changes("fn f(a: u8) -> u8 { !a }"), ["!a -> a"]);
        assert_eq!(changes("fn f() -> u8 { 7 }"), ["7 -> 8", "7 -> 0", "7 -> 14"]);
        assert_eq!(changes("fn f() -> f64 { 0.5 }"), ["0.5 -> 1.0", "0.5 -> 0.25"]);
        assert_eq!(changes("fn f(a: u8) { if a { b } }"), ["a -> true", "a -> false"]);
        assert_eq!(changes("fn f(a: u8) { while a {} }"), ["a -> false"]);
        assert_eq!(changes("fn f(a: u8) -> bool { a }"), ["fn f { .. } -> true", "fn f { .. } -> false"]);
        assert_eq!(changes("fn f(a: u8) -> u8 { a.min(b) }"), ["a.min(b) -> a.max(b)"]);
        assert_eq!(changes("fn f(a: &mut V) { a.push(b); }"), ["a.push(b); -> left out"]);
        assert_eq!(changes("fn f() { g()?; }"), ["g()?; -> left out"]);
        assert_eq!(changes("fn f() { a += b; }"), ["a += b; -> left out", "a += b -> a -= b"]);
    }

    #[test]
    fn leaves_alone_what_the_compiler_evaluates() {
        for text in [
            "const A: u8 = 1 + 2;",
            "static A: u8 = 1;",
            "const fn f() -> bool { 1 < 2 }",
            "fn f() { let a: [u8; 3] = b; }",
            "fn f() { g = [b; 3] }",
            "fn f() { g::<3>() }",
            "fn f() { g = const { 3 } }",
            "enum E { A = 1 }",
            "struct S<const N: usize = 3>;",
            "impl A for B { const C: u8 = 1; }",
        ] {
            assert_eq!(changes(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn leaves_alone_tests_patterns_macros_and_attributes() {
        for text in [
            "#[cfg(test)] mod tests { fn f() -> u8 { 1 } }",
            "#[test] fn f() { g = 1 }",
            "#![cfg(test)] fn f() -> u8 { 1 }",
            "#[cfg(test)] impl A { fn f() -> u8 { 1 } }",
            "fn f() { match a { 1 => b, _ => c } }",
            "fn f() { if let Some(1) = a && let Some(b) = c {} }",
            "fn f() { assert!(a < 1); }",
            "#[doc(alias = \"1\")] fn f() {}",
            "impl fmt::Debug for A { fn fmt(&self) { 1 } }",
        ] {
            assert_eq!(changes(text), [""; 0], "{text}");
        }
        assert!(!changes("#[cfg(not(test))] fn f() -> u8 { 1 }").is_empty());
    }

    #[test]
    fn says_where() {
        let text = "// é\nfn f() -> u8 {\n    // one\n    1\n}\n";
        let found = &places(text).unwrap()[0];
        assert_eq!((found.line, &text[found.bytes.clone()]), (4, "1"));
        assert!(text[found.function.clone()].starts_with('{'));
    }

    #[test]
    fn knows_test_modules() {
        assert_eq!(test_modules("#[cfg(test)] mod tests; mod a; #[cfg(test)] mod b {}").unwrap(), ["tests"]);
    }

    #[test]
    fn a_long_change_shows_its_operator() {
        let long = "a_rather_long_name_of_something".repeat(3);
        let found = changes(&format!("fn f() {{ g = {long} - {long} }}"));
        assert!(found[0].contains(" - a_rather") && found[0].contains(" + a_rather"), "{found:?}");
    }
}
