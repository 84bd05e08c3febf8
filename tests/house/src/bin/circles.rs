//! `cargo run -p muster-house --bin circles [crate]`: circles of imports, crate by crate, largest first.

use anyhow::Result;
use muster_house::circles;

fn main() -> Result<()> {
    let wanted = std::env::args().nth(1);
    for (name, root) in circles::targets()? {
        let package = name.split('/').next().unwrap_or(&name);
        if wanted
            .as_ref()
            .is_some_and(|wanted| wanted != package && *wanted != name)
        {
            continue;
        }
        for circle in circles::circles(&name, &root)? {
            println!("{circle}");
        }
    }
    Ok(())
}
