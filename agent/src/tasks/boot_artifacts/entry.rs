//! The boot loader's entry. Format: Boot Loader Specification, type 1.

use url::Url;

use super::ArtifactError;

/// The entry for the kernel and initrd in `folder`. Without `rootfs_url` the initrd is all of the system. `kernel_arguments`: the
/// whole kernel line of an image that is not CoreOS; empty for CoreOS.
///
/// # Errors
/// Fails for a URL or an argument that the boot loader or the kernel could read as something else.
pub(super) fn text(
    folder: &str,
    rootfs_url: &str,
    kernel_arguments: &[String],
) -> Result<String, ArtifactError> {
    let mut options = if kernel_arguments.is_empty() {
        "random.trust_cpu=on ignition.firstboot ignition.platform.id=metal".to_owned()
    } else {
        for argument in kernel_arguments {
            // The boot loader replaces variables, and a line ends the entry's key.
            if argument.contains(|c: char| c.is_control() || c == '$') {
                return Err(ArtifactError::Request(format!(
                    "the kernel argument `{argument}` has characters that a boot loader's entry cannot"
                )));
            }
        }
        kernel_arguments.join(" ")
    };
    if !rootfs_url.is_empty() {
        let url = Url::parse(rootfs_url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| ArtifactError::Request(format!("rootfs_url `{rootfs_url}` is no http(s) URL")))?;
        if url
            .as_str()
            .contains(|c: char| c.is_whitespace() || c.is_control() || "'\"\\$".contains(c))
        {
            return Err(ArtifactError::Request(format!(
                "rootfs_url `{url}` has characters that a kernel argument cannot"
            )));
        }
        options.push_str(&format!(" 'coreos.live.rootfs_url={url}'"));
    }
    Ok(format!(
        "title Assisted Installer Discovery\nversion 999\noptions {options}\nlinux {folder}/vmlinuz\ninitrd {folder}/initrd\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_is_that_of_the_protocol() {
        let expected = "title Assisted Installer Discovery\nversion 999\n\
            options random.trust_cpu=on ignition.firstboot ignition.platform.id=metal \
            'coreos.live.rootfs_url=https://images.example/rootfs?arch=x86_64&version=4.18'\n\
            linux /discovery/vmlinuz\ninitrd /discovery/initrd\n";
        let url = "https://images.example/rootfs?arch=x86_64&version=4.18";
        assert_eq!(text("/discovery", url, &[]).unwrap(), expected);
        assert!(!text("/discovery", "", &[]).unwrap().contains("rootfs"));
    }

    #[test]
    fn an_image_that_is_not_coreos_brings_its_kernel_line() {
        let line = ["quiet".to_owned(), "console=ttyS0".to_owned()];
        let entry = text("/discovery", "", &line).unwrap();
        assert!(entry.contains("\noptions quiet console=ttyS0\n"), "{entry}");
        for bad in ["a\nlinux /evil", "$(x)"] {
            assert!(text("/discovery", "", &[bad.to_owned()]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_url_that_would_end_its_argument_is_refused() {
        for url in ["http://a/' init=/bin/sh '", "http://a/$x", "file:///etc", "a"] {
            let made = text("/discovery", url, &[]);
            assert!(made.is_err() || !made.unwrap().contains("init=/bin/sh"), "{url}");
        }
    }
}
