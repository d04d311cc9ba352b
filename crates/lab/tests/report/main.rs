//! Terminal tables, exported files and the page, on results that were made up.

mod export;
mod html;
mod synthetic;
mod terminal;
