//! What `read` shows of files that aren't plain text: pictures, PDF documents, notebooks.

use crate::kit::{call, done, has, invalid, read};
use haft_core::{Block, Ended};
use haft_os::{Environment, OsMedia, OsProcesses};
use haft_test::Harness;
use haft_tools::{ToolSettings, tools_with};
use image::{DynamicImage, ImageFormat, RgbImage};
use serde_json::json;
use std::{env, io::Cursor, sync::Arc};

/// A harness whose PDF documents are read in a child: this very program, which runs nothing but the "test" below.
fn kit() -> Harness {
    let program = env::current_exe().unwrap();
    let argv = [program.to_str().unwrap(), "--exact", "read_kinds::child_for_documents"];
    let processes = Arc::new(OsProcesses::new(Environment::of_process()));
    let media = OsMedia::default().with_child(processes, argv.map(str::to_owned).to_vec());
    let kit = Harness::new();
    kit.register_core(tools_with(ToolSettings::default(), Arc::new(media)));
    kit
}

/// The child's way in; does nothing where it wasn't started as one.
#[test]
fn child_for_documents() {
    haft_os::serve_child();
}

fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let pixels = RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([x.to_le_bytes()[0], y.to_le_bytes()[0], x.wrapping_mul(y).to_le_bytes()[0]])
    });
    let mut bytes = Vec::new();
    DynamicImage::ImageRgb8(pixels).write_to(Cursor::new(&mut bytes), format).unwrap();
    bytes
}

fn block(ended: &Ended) -> Option<(&str, [u32; 2], &str)> {
    ended.output.content.iter().find_map(|block| match block {
        Block::Image { data, media_type, dims } => Some((media_type.as_str(), dims.unwrap(), data.as_str())),
        _ => None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_shown_as_what_their_content_is() {
    let kit = kit();
    for (name, format, media_type) in [
        ("a.png", ImageFormat::Png, "image/png"),
        ("photo.png", ImageFormat::Jpeg, "image/jpeg"),
        ("no ending", ImageFormat::Gif, "image/gif"),
        ("w.txt", ImageFormat::WebP, "image/webp"),
    ] {
        kit.write(name, picture(30, 20, format));
        let ended = read(&kit, name).await;
        has(&done(&ended), &[name, media_type, "30×20 pixels"]);
        let (shown, dims, data) = block(&ended).expect("a picture");
        assert_eq!((shown, dims), (media_type, [30, 20]));
        assert!(!data.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_picture_is_made_to_fit() {
    let kit = kit();
    kit.write("wide.png", picture(3_136, 100, ImageFormat::Png));
    let ended = read(&kit, "wide.png").await;
    has(&done(&ended), &["3136×100 pixels", "shown as image/png, 1568×50"]);
    let (_, dims, data) = block(&ended).expect("a picture");
    assert_eq!(dims, [1_568, 50]);
    assert!(data.len() <= 5_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f17_what_is_no_whole_picture_or_document_is_never_handed_on() {
    let kit = kit();
    let png = picture(300, 200, ImageFormat::Png);
    for (name, bytes, parts) in [
        (
            "f.pdf",
            b"%PDF-1.4 nope".to_vec(),
            ["application/pdf, 13 B", "25 50 44 46", "isn't a readable PDF"],
        ),
        (
            "g.png",
            [b"\x89PNG\r\n\x1a\n".as_slice(), &[9; 900]].concat(),
            ["image/png, 908 B", "89 50 4e 47", "It begins as a PNG and isn't a whole one"],
        ),
        ("cut.png", png[..png.len() / 2].to_vec(), ["image/png", "89 50 4e 47", "isn't a whole one"]),
        ("g.gif", b"GIF89a".to_vec(), ["image/gif, 6 B", "47 49 46 38", "isn't a whole one"]),
        ("x.jpg", b"\xff\xd8\xff\xe0 nope".to_vec(), ["image/jpeg, 9 B", "ff d8 ff e0", "isn't a whole one"]),
    ] {
        kit.write(name, bytes);
        let ended = read(&kit, name).await;
        has(&done(&ended), &parts);
        assert!(block(&ended).is_none(), "{name}");
    }
    // A name alone makes nothing a picture.
    kit.write("words.png", "only text\n");
    assert_eq!(done(&read(&kit, "words.png").await), "1│only text");
}

/// A document of one line a page, with right offsets.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + page * 2)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    for (page, words) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R /Resources << /Font << /F1 3 0 R \
             >> >> >>",
            5 + page * 2
        ));
        let stream = format!("BT /F1 24 Tf 72 700 Td ({words}) Tj ET");
        objects.push(format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()));
    }
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).into_bytes());
    }
    let table = bytes.len();
    bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
    for offset in offsets {
        bytes.extend(format!("{offset:010} 00000 n \n").into_bytes());
    }
    let size = objects.len() + 1;
    bytes
        .extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").into_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_read_by_pages() {
    let kit = kit();
    let pages: Vec<String> = (1..=23).map(|page| format!("Words of page {page}")).collect();
    kit.write("no-pdf.txt", pdf(&pages.iter().map(String::as_str).collect::<Vec<_>>()));
    let text = done(&read(&kit, "no-pdf.txt").await);
    has(&text, &["is a PDF with 23 pages", "── page 1 of 23 ──\nWords of page 1\n", "Words of page 20"]);
    has(&text, &["… 3 more pages; read on with pages=\"21-\""]);
    assert!(!text.contains("Words of page 21"));
    let text = done(&call(&kit, "read", json!({"path": "no-pdf.txt", "pages": "21-"})).await);
    has(&text, &["── page 21 of 23 ──\nWords of page 21", "Words of page 23"]);
    let text = done(&call(&kit, "read", json!({"path": "no-pdf.txt", "pages": "3"})).await);
    assert!(text.contains("page 3") && !text.contains("Words of page 4"), "{text}");
    has(
        &done(&call(&kit, "read", json!({"path": "no-pdf.txt", "pages": "99"})).await),
        &["There is no page 99"],
    );
    has(
        &invalid(&call(&kit, "read", json!({"path": "no-pdf.txt", "pages": "all"})).await),
        &["/pages must be"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notebook_is_read_by_cells_and_a_broken_one_as_text() {
    let kit = kit();
    kit.write(
        "n.ipynb",
        "{\"nbformat\": 4, \"nbformat_minor\": 4, \"metadata\": {}, \"cells\": [{\"cell_type\": \"code\", \
         \"source\": [\"a = 1\\n\", \"a\"], \"execution_count\": 2, \"outputs\": [{\"output_type\": \
         \"execute_result\", \"data\": {\"text/plain\": [\"1\"], \"image/png\": \"AAAA\"}}]}, {\"cell_type\": \
         \"markdown\", \"source\": \"# b\"}]}\n",
    );
    let text = done(&read(&kit, "n.ipynb").await);
    has(
        &text,
        &["── #1 code, ran as [2] ──\n│a = 1\n│a\noutput text/plain:\n  1\n", "image/png: 4 B, not shown"],
    );
    has(&text, &["── #2 markdown ──\n│# b", "notebook_edit"]);
    let second = done(&call(&kit, "read", json!({"path": "n.ipynb", "pages": "2"})).await);
    assert!(!second.contains("#1") && second.contains("# b"), "{second}");
    let plain = done(&call(&kit, "read", json!({"path": "n.ipynb", "columns": "1-2000"})).await);
    has(&plain, &["1│{\"nbformat\": 4"]);
    kit.write("broken.ipynb", "{\"cells\": [\n");
    has(
        &done(&read(&kit, "broken.ipynb").await),
        &["1│{\"cells\": [", "can't be shown by cells: it isn't valid JSON"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f19_the_only_name_that_looks_the_same_is_read_and_none_of_several() {
    let kit = kit();
    kit.write("Shot 2026\u{202f}AM.txt", "narrow\n");
    let text = done(&read(&kit, "Shot 2026 AM.txt").await);
    has(&text, &["1│narrow", "real name is \"Shot 2026\\u{202f}AM.txt\""]);
    kit.write("Shot 2026\u{a0}AM.txt", "fixed\n");
    let text = read(&kit, "Shot 2026 AM.txt").await.output.joined_text();
    has(&text, &["\"Shot 2026\\u{a0}AM.txt\"", "\"Shot 2026\\u{202f}AM.txt\"", "Give one of them exactly"]);
    assert!(!text.contains("narrow") && !text.contains("fixed"), "{text}");
    // What is written is what was named, and from then on the exact name wins.
    done(&call(&kit, "write", json!({"path": "Shot 2026 AM.txt", "content": "plain\n"})).await);
    assert_eq!(done(&read(&kit, "Shot 2026 AM.txt").await), "1│plain");
    assert_eq!(done(&read(&kit, "Shot 2026\u{202f}AM.txt").await), "1│narrow");
    // Composed or not, a letter is the same to the eye.
    kit.write("cafe\u{301}.txt", "two signs\n");
    has(&done(&read(&kit, "caf\u{e9}.txt").await), &["1│two signs"]);
}
