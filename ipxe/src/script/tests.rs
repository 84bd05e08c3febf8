use proptest::prelude::*;

use super::*;

const KERNEL: &str = "http://img.lab.example:6016/boot/k3x/vmlinuz";
const INITRD: &str = "http://img.lab.example:6016/boot/k3x/initrd.img?api_key=eyJ0&arch=x86_64";

fn muster(arguments: &[&str]) -> Result<String, ScriptError> {
    let kernel_arguments: Vec<String> = arguments.iter().map(|text| text.to_string()).collect();
    let system = System::Muster {
        default_arguments: "quiet console=tty0 console=ttyS0,115200n8",
    };
    BootScript {
        kernel_url: KERNEL,
        initrd_url: INITRD,
        system,
        kernel_arguments: &kernel_arguments,
        on_failure: OnFailure::Leave,
    }
    .render()
}

#[test]
fn the_live_image_boots_without_a_root_file_system() {
    assert_eq!(
        muster(&["isolcpus=2,3", r#"a="b c""#]).unwrap(),
        "#!ipxe\n\
         imgfree\n\
         initrd --name initrd http://img.lab.example:6016/boot/k3x/initrd.img?api_key=eyJ0&arch=x86_64\n\
         kernel http://img.lab.example:6016/boot/k3x/vmlinuz initrd=initrd quiet console=tty0 \
         console=ttyS0,115200n8 BOOTIF=01-${netX/mac:hexhyp} isolcpus=2,3 a=\"b c\"\n\
         boot\n"
    );
}

#[test]
fn coreos_gets_the_arguments_of_the_field() {
    let script = BootScript {
        kernel_url: "http://img.lab.example:6016/boot-artifacts/kernel?arch=x86_64&version=4.19",
        initrd_url: "http://img.lab.example:6016/images/0b6f7a52-1111-4222-8333-444455556666/pxe-initrd?api_key=eyJ0&arch=x86_64&version=4.19",
        system: System::CoreOs {
            rootfs_url: "http://img.lab.example:6016/boot-artifacts/rootfs?arch=x86_64&version=4.19",
        },
        kernel_arguments: &["isolcpus=2,3".to_string()],
        on_failure: OnFailure::Leave,
    };
    assert_eq!(
        script.render().unwrap(),
        r#"#!ipxe
imgfree
initrd --name initrd http://img.lab.example:6016/images/0b6f7a52-1111-4222-8333-444455556666/pxe-initrd?api_key=eyJ0&arch=x86_64&version=4.19
kernel http://img.lab.example:6016/boot-artifacts/kernel?arch=x86_64&version=4.19 initrd=initrd coreos.live.rootfs_url=http://img.lab.example:6016/boot-artifacts/rootfs?arch=x86_64&version=4.19 random.trust_cpu=on rd.luks.options=discard ignition.firstboot ignition.platform.id=metal console=tty1 console=ttyS1,115200n8 coreos.inst.persistent-kargs="console=tty1 console=ttyS1,115200n8" isolcpus=2,3
boot
"#
    );
}

#[test]
fn the_redirect_script_asks_again_with_the_mac() {
    let url = "http://hub.lab.example:6008/api/assisted-install/v2/infra-envs/0b6f7a52-1111-4222-8333-444455556666/downloads/files?api_key=eyJ0&file_name=ipxe-script";
    assert_eq!(
        redirect_script(url, OnFailure::Leave).unwrap(),
        format!("#!ipxe\nchain {url}&mac=${{net0/mac}}\n")
    );
    assert_eq!(
        redirect_script("http://hub.lab.example/boot/k3x/boot.ipxe", OnFailure::Leave).unwrap(),
        "#!ipxe\nchain http://hub.lab.example/boot/k3x/boot.ipxe?mac=${net0/mac}\n"
    );
}

#[test]
fn scripts_that_retry_never_end_by_a_failure() {
    let url = "http://hub.lab.example/boot/k3x/boot.ipxe";
    let redirect = redirect_script(url, OnFailure::Retry).unwrap();
    assert!(redirect.contains(&format!(
        "\nchain --replace {url}?mac=${{net0/mac}}&installed=exit ||\n"
    )));
    let boot = BootScript {
        kernel_url: KERNEL,
        initrd_url: INITRD,
        system: System::Muster {
            default_arguments: "quiet",
        },
        kernel_arguments: &[],
        on_failure: OnFailure::Retry,
    };
    let boot = boot.render().unwrap();
    for script in [&redirect, &boot] {
        assert!(script.ends_with("sleep 10\ngoto again\n"), "{script}");
    }
    for command in ["initrd ", "kernel ", "boot "] {
        let line = boot.lines().find(|line| line.starts_with(command)).unwrap();
        assert!(line.ends_with(" || goto failed"), "{line}");
    }
}

#[test]
fn an_argument_that_would_change_the_script_is_refused_by_its_number() {
    for (argument, found) in [
        ("x\nboot", "a line break or another control character"),
        ("x\r", "a line break or another control character"),
        ("${net0/ip}", "`${`"),
        ("#x", "a word that begins with `#`"),
        (r#""a || b""#, "a command separator"),
        ("a\\", "a backslash at its end"),
    ] {
        let error = muster(&["fine", argument]).unwrap_err();
        assert_eq!(
            error,
            ScriptError::UnsafeArgument { number: 2, found },
            "{argument:?}"
        );
    }
}

#[test]
fn urls_must_be_absolute_and_plain_and_are_not_shown() {
    for url in ["/boot/x", "tftp://a/b", "http://", "vmlinuz", ""] {
        assert_eq!(
            redirect_script(url, OnFailure::Leave),
            Err(ScriptError::NotAUrl { what: "script URL" }),
            "{url}"
        );
    }
    for url in ["http://a/b c", "http://a/b\nboot", "http://a/${x}", "http://a/#b"] {
        let error = redirect_script(url, OnFailure::Leave).unwrap_err();
        assert!(matches!(error, ScriptError::UnsafeUrl { .. }), "{url:?}");
        assert!(!error.to_string().contains("http://a"));
    }
}

proptest! {
    #[test]
    fn a_script_has_five_lines_whatever_the_arguments_are(
        arguments in prop::collection::vec("(\\PC|[\n\r\t #$\\{|&;]){0,20}", 0..4),
    ) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if let Ok(script) = muster(&arguments) {
            let lines: Vec<&str> = script.lines().collect();
            prop_assert_eq!(lines.len(), 5);
            let words: Vec<&str> = lines[3].split_whitespace().collect();
            prop_assert_eq!((words[0], words[1]), ("kernel", KERNEL));
            prop_assert!(!words.iter().any(|word| word.starts_with('#') || ["||", "&&", ";"].contains(word)));
            // Only the boot card's argument may hold a setting.
            let has_setting = script.replacen(BOOT_CARD, "", 1).contains("${");
            prop_assert!(!has_setting);
        }
    }
}
