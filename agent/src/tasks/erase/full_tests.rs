use muster_api::steps::DiskErasure;
use tokio_util::sync::CancellationToken;

use super::super::methods::nvme::{FORMAT, SANITIZE};
use super::super::played::{Discards, INVALID_OPCODE, Played, own_password};
use super::*;

const MIB: u64 = 1 << 20;

/// A fault of the disk that is played.
type Change = fn(&mut Played);

fn progress(disk: &Played) -> Progress {
    let progress = Progress::new("/dev/x".into(), CancellationToken::new());
    progress.begin(disk.bytes.len() as u64);
    progress
}

/// Erases the disk; returns the result, and the state at its end.
fn run(disk: &mut Played) -> (Result<Erased, EraseError>, DiskErasure) {
    let progress = progress(disk);
    let result = erase(disk, false, &progress);
    (result, progress.shown())
}

/// Erases the disk, which must succeed; returns samples, notes and method.
fn good(disk: &mut Played) -> (Erased, Option<ErasureMethod>) {
    let (result, shown) = run(disk);
    (result.unwrap(), shown.method)
}

#[test]
fn a_controller_sanitizes_and_nothing_else_is_done() {
    let mut disk = Played::nvme(MIB);
    let (erased, method) = good(&mut disk);
    assert_eq!((erased.samples, erased.notes.as_str()), (256, ""));
    assert_eq!(method, Some(ErasureMethod::NvmeSanitize));
    assert!(disk.is_zero() && !disk.sent.contains(&FORMAT));
    let sanitizes = disk.sent.iter().filter(|opcode| **opcode == SANITIZE);
    assert_eq!(sanitizes.count(), 1);
}

#[test]
fn a_sanitize_that_is_refused_or_fails_or_keeps_data_is_followed_by_a_format() {
    let changes: [(Change, &str); 5] = [
        (
            |disk| disk.nvme.refuses_sanitize = Some(INVALID_OPCODE),
            "status 0x4001",
        ),
        (|disk| disk.nvme.fails = true, "reports that it failed"),
        (|disk| disk.nvme.keeps = true, "data was left"),
        (|disk| disk.nvme.sanitizes = 0, "neither keys nor blocks"),
        (|disk| disk.nvme.namespaces = vec![1, 2], "other namespaces"),
    ];
    for (change, word) in changes {
        let mut disk = Played::nvme(MIB);
        change(&mut disk);
        let (erased, method) = good(&mut disk);
        assert_eq!(method, Some(ErasureMethod::NvmeFormat), "{word}");
        assert!(erased.notes.contains(word), "{word}: {}", erased.notes);
        assert!(disk.is_zero() && erased.samples == 256, "{word}");
    }
}

#[test]
fn a_sanitize_without_an_end_meets_its_deadline_and_the_disk_is_not_erased() {
    let mut disk = Played::nvme(MIB);
    disk.nvme.never_ends = true;
    disk.nvme.refuses_format = Some(0x1d);
    let (result, _) = run(&mut disk);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("has not ended within 86400 s"), "{text}");
    assert!(text.contains("samples cannot be written"), "{text}");
}

#[test]
fn a_sanitize_that_runs_already_is_waited_for_and_no_other_begins() {
    let mut disk = Played::nvme(MIB);
    (disk.nvme.state, disk.nvme.rounds) = (2, 3);
    let (erased, method) = good(&mut disk);
    assert_eq!(method, Some(ErasureMethod::NvmeSanitize));
    assert!(erased.notes.contains("waited for"), "{}", erased.notes);
    assert!(disk.is_zero() && !disk.sent.contains(&SANITIZE));
    assert_eq!(erased.samples, 256);
}

#[test]
fn a_controller_whose_last_sanitize_failed_is_sanitized_again() {
    for restricted in [false, true] {
        let mut disk = Played::nvme(MIB);
        (disk.nvme.state, disk.nvme.restricted) = (3, restricted);
        let (_, method) = good(&mut disk);
        assert_eq!(method, Some(ErasureMethod::NvmeSanitize), "{restricted}");
        assert!(disk.is_zero(), "{restricted}");
    }
}

#[test]
fn a_format_that_fails_is_followed_by_a_discard() {
    let mut disk = Played::nvme(MIB);
    disk.nvme.sanitizes = 0;
    disk.nvme.refuses_format = Some(0x10a);
    let (erased, method) = good(&mut disk);
    assert_eq!(method, Some(ErasureMethod::Discard));
    assert!(
        erased.notes.contains("NVMe Format: the controller"),
        "{}",
        erased.notes
    );
    assert!(disk.is_zero());
}

#[test]
fn a_sata_disk_erases_itself_and_has_no_password_then() {
    for enhanced in [true, false] {
        let mut disk = Played::ata(MIB);
        disk.ata.enhanced = enhanced;
        let (erased, method) = good(&mut disk);
        assert_eq!(method, Some(ErasureMethod::AtaSecureErase));
        assert_eq!((erased.samples, erased.notes.as_str()), (256, ""));
        assert!(disk.is_other() && disk.ata.password.is_none());
        assert_eq!(disk.is_zero(), !enhanced);
        // IDENTIFY for recovery and plan, SET PASSWORD, PREPARE, ERASE UNIT, IDENTIFY.
        assert_eq!(disk.sent, [0xec, 0xec, 0xf1, 0xf3, 0xf4, 0xec]);
    }
}

#[test]
fn a_sata_disk_that_cannot_erase_itself_is_discarded_and_keeps_no_password() {
    let changes: [(Change, &str); 7] = [
        (|disk| disk.ata.frozen = true, "frozen"),
        (|disk| disk.ata.supported = false, "no security commands"),
        (|disk| disk.ata.aborts = Some(0xf1), "SET PASSWORD"),
        (|disk| disk.ata.aborts = Some(0xf3), "ERASE PREPARE"),
        (|disk| disk.ata.aborts = Some(0xf4), "sense b/00/00"),
        (|disk| disk.ata.times_out = true, "no answer within"),
        (|disk| disk.ata.keeps = true, "data was left"),
    ];
    for (change, word) in changes {
        let mut disk = Played::ata(MIB);
        change(&mut disk);
        let (erased, method) = good(&mut disk);
        assert_eq!(method, Some(ErasureMethod::Discard), "{word}");
        assert!(erased.notes.contains(word), "{word}: {}", erased.notes);
        assert!(disk.is_zero() && disk.ata.password.is_none(), "{word}");
    }
}

#[test]
fn a_disk_that_is_locked_by_another_is_not_erased_and_told_so() {
    let mut disk = Played::ata(MIB);
    (disk.ata.password, disk.ata.locked) = (Some(vec![7; 32]), true);
    let (result, _) = run(&mut disk);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("locked with a password that is not"), "{text}");
    let unlocks = disk.sent.iter().filter(|command| **command == 0xf2);
    assert_eq!(unlocks.count(), 1, "the disk counts them");
    // Without a lock its sectors can be written.
    (disk.ata.locked, disk.sent) = (false, Vec::new());
    let (erased, method) = good(&mut disk);
    assert_eq!(method, Some(ErasureMethod::Discard));
    assert!(
        erased.notes.contains("a password that is not"),
        "{}",
        erased.notes
    );
}

#[test]
fn power_that_is_lost_at_any_command_ends_in_an_erased_disk_after_the_next_start() {
    let makes: [fn(u64) -> Played; 3] = [Played::nvme, Played::ata, Played::plain];
    for make in makes {
        let mut cut_in = 0;
        loop {
            let mut disk = make(32 << 10);
            disk.cut_in = Some(cut_in);
            let (first, _) = run(&mut disk);
            let was_cut = first.is_err();
            disk.power_on();
            let (result, shown) = run(&mut disk);
            assert!(
                result.is_ok() && disk.is_other() && disk.ata.password.is_none(),
                "{cut_in}: {result:?} {shown:?}"
            );
            if !was_cut {
                break;
            }
            cut_in += 1;
        }
        assert!(cut_in > 10, "{cut_in}");
    }
}

#[test]
fn the_password_of_an_erasure_that_lost_power_is_taken_off() {
    let mut disk = Played::ata(MIB);
    disk.ata.password = Some(own_password());
    disk.power_on();
    assert!(disk.ata.locked);
    let (_, method) = good(&mut disk);
    assert_eq!(method, Some(ErasureMethod::AtaSecureErase));
    assert_eq!(disk.sent[..4], [0xec, 0xf2, 0xf6, 0xec]);
    assert!(disk.ata.password.is_none() && disk.is_other());
}

#[test]
fn a_disk_that_keeps_the_password_of_its_erasure_is_not_erased_before_that_is_taken_off() {
    let mut disk = Played::ata(MIB);
    (disk.ata.times_out, disk.ata.aborts) = (true, Some(0xf6));
    let (result, _) = run(&mut disk);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("keeps the password"), "{text}");
    (disk.ata.times_out, disk.ata.aborts) = (false, None);
    disk.power_on();
    assert!(disk.ata.locked);
    let (_, method) = good(&mut disk);
    assert_eq!(method, Some(ErasureMethod::AtaSecureErase));
    assert!(disk.ata.password.is_none());
}

#[test]
fn a_discard_that_is_refused_or_leaves_data_is_followed_by_zeros() {
    for (discards, word) in [
        (Discards::Refused, "discard: unsupported"),
        (Discards::Keeps, "discard: data was left"),
    ] {
        let mut disk = Played::plain(5 * MIB + 512);
        disk.discards = discards;
        let (erased, method) = good(&mut disk);
        assert_eq!(method, Some(ErasureMethod::Overwrite));
        assert!(erased.notes.contains(word), "{}", erased.notes);
        assert!(disk.is_zero(), "to the last sector");
        assert_eq!(erased.samples, 1024);
    }
}

#[test]
fn a_disk_that_refuses_everything_has_each_reason() {
    let mut disk = Played::nvme(MIB);
    disk.nvme.refuses_sanitize = Some(0x4002);
    disk.nvme.refuses_format = Some(0x4003);
    disk.read_only = true;
    let (result, _) = run(&mut disk);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("samples cannot be written"), "{text}");
    let mut disk = Played::plain(9 * MIB);
    disk.slow = std::time::Duration::from_secs(3600);
    disk.discards = Discards::Keeps;
    let text = run(&mut disk).0.unwrap_err().to_string();
    assert!(
        text.contains("data was left") && text.contains("too slow"),
        "{text}"
    );
}

#[test]
fn an_erasure_that_is_stopped_ends_between_two_commands() {
    let stop = CancellationToken::new();
    let progress = Progress::new(String::new(), stop.clone());
    stop.cancel();
    let mut disk = Played::plain(MIB);
    assert!(matches!(
        erase(&mut disk, false, &progress),
        Err(EraseError::Stopped)
    ));
    assert!(!disk.is_zero());
}
