//! Pictures: told by content, decoded whole, made to fit.
//!
//! Decoding is the check: what can't be decoded is never handed on, since a model's host refuses every later
//! request that holds it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use haft_core::{Failure, Image, ImageLimits};
use image::{
    AnimationDecoder as _, DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits, Rgb, RgbImage,
    codecs::{gif::GifDecoder, jpeg::JpegEncoder, webp::WebPDecoder},
    imageops::FilterType,
    metadata::Orientation,
};
use std::{
    io::Cursor,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A decoder may take so much memory.
const ALLOC_MAX_BYTES: u64 = 256 << 20;
/// A picture with a longer side isn't decoded.
const SIDE_MAX_PX: u32 = 32_768;
/// Small enough, and no ring around letters in a screenshot.
const JPEG_QUALITY: u8 = 85;
/// So often it is made smaller by a quarter where it is still too long.
const SHRINKS_MAX: usize = 12;
/// How much of a decoder's own words is passed on.
const REASON_MAX_CHARS: usize = 160;

/// Decodes a picture and makes it fit.
pub(super) fn decode(bytes: &[u8], limits: ImageLimits) -> Result<Image, Failure> {
    let format = image::guess_format(bytes).ok();
    let Some((format, file_type, name)) = format.and_then(known) else {
        return Err(Failure::invalid("its content is none of PNG, JPEG, GIF and WebP"));
    };
    let file = File { bytes, format, media_type: file_type, name };
    catch_unwind(AssertUnwindSafe(|| file.fitted(limits)))
        .unwrap_or_else(|_| Err(file.broken("the decoder failed on it")))
}

fn known(format: ImageFormat) -> Option<(ImageFormat, &'static str, &'static str)> {
    match format {
        ImageFormat::Png => Some((format, "image/png", "PNG")),
        ImageFormat::Jpeg => Some((format, "image/jpeg", "JPEG")),
        ImageFormat::Gif => Some((format, "image/gif", "GIF")),
        ImageFormat::WebP => Some((format, "image/webp", "WebP")),
        _ => None,
    }
}

fn bounds() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX_PX);
    limits.max_image_height = Some(SIDE_MAX_PX);
    limits.max_alloc = Some(ALLOC_MAX_BYTES);
    limits
}

/// A file whose first bytes are those of a picture.
struct File<'a> {
    bytes: &'a [u8],
    format: ImageFormat,
    media_type: &'static str,
    name: &'static str,
}

impl File<'_> {
    fn broken(&self, reason: &str) -> Failure {
        let reason: String = reason.chars().take(REASON_MAX_CHARS).collect();
        Failure::invalid(format!("it begins as a {} and isn't a whole one: {reason}", self.name))
    }

    fn fitted(&self, limits: ImageLimits) -> Result<Image, Failure> {
        let broken = |error: image::ImageError| self.broken(&error.to_string());
        let mut reader = ImageReader::with_format(Cursor::new(self.bytes), self.format);
        reader.limits(bounds());
        let mut decoder = reader.into_decoder().map_err(broken)?;
        let (width, height) = decoder.dimensions();
        if decoder.total_bytes() > ALLOC_MAX_BYTES {
            return Err(Failure::invalid(format!(
                "its {width}×{height} pixels are too many to be decoded here; make a smaller copy with a command \
                 through bash"
            )));
        }
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let mut picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
        picture.apply_orientation(orientation);
        let is_animated = self.is_animated();
        let file_size = [picture.width(), picture.height()];
        let fits = file_size.iter().all(|side| *side <= limits.side_max_px)
            && self.bytes.len() <= limits.data_max_bytes;
        if fits && !is_animated && orientation == Orientation::NoTransforms {
            return Ok(Image {
                media_type: self.media_type,
                data: STANDARD.encode(self.bytes),
                size: file_size,
                file_type: self.media_type,
                file_size,
                is_animated,
            });
        }
        let encoded = self.encoded(&picture, limits).map_err(broken)?.ok_or_else(|| {
            Failure::invalid(
                "it stays too long however small it is made; convert it with a command through bash",
            )
        })?;
        Ok(Image {
            media_type: encoded.media_type,
            data: STANDARD.encode(&encoded.data),
            size: encoded.size,
            file_type: self.media_type,
            file_size,
            is_animated,
        })
    }

    /// Whether there is a second frame, be it a broken one.
    fn is_animated(&self) -> bool {
        match self.format {
            ImageFormat::Gif => GifDecoder::new(Cursor::new(self.bytes)).is_ok_and(|mut decoder| {
                decoder.set_limits(bounds()).is_ok() && decoder.into_frames().take(2).count() > 1
            }),
            ImageFormat::WebP => {
                WebPDecoder::new(Cursor::new(self.bytes)).is_ok_and(|decoder| decoder.has_animation())
            }
            _ => false,
        }
    }

    /// Smaller and smaller until it fits. What may have sharp edges stays PNG as long as that is short enough.
    fn encoded(&self, picture: &DynamicImage, limits: ImageLimits) -> image::ImageResult<Option<Encoded>> {
        let mut side = limits.side_max_px.max(1);
        for _ in 0..SHRINKS_MAX {
            let is_larger = picture.width().max(picture.height()) > side;
            let resized = is_larger.then(|| picture.resize(side, side, FilterType::CatmullRom));
            let picture = resized.as_ref().unwrap_or(picture);
            let size = [picture.width(), picture.height()];
            if self.format != ImageFormat::Jpeg {
                let mut data = Vec::new();
                picture.write_to(Cursor::new(&mut data), ImageFormat::Png)?;
                if data.len() <= limits.data_max_bytes {
                    return Ok(Some(Encoded { media_type: "image/png", data, size }));
                }
            }
            let mut data = Vec::new();
            let encoder = JpegEncoder::new_with_quality(&mut data, JPEG_QUALITY);
            DynamicImage::ImageRgb8(on_white(picture)).write_with_encoder(encoder)?;
            if data.len() <= limits.data_max_bytes {
                return Ok(Some(Encoded { media_type: "image/jpeg", data, size }));
            }
            side = (size[0].max(size[1]) / 4 * 3).max(1);
        }
        Ok(None)
    }
}

/// A picture encoded anew.
struct Encoded {
    media_type: &'static str,
    data: Vec<u8>,
    size: [u32; 2],
}

/// JPEG knows no transparency.
fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let source = picture.to_rgba8();
    let mut flat = RgbImage::new(source.width(), source.height());
    for (from, to) in source.pixels().zip(flat.pixels_mut()) {
        let [red, green, blue, alpha] = from.0;
        let over = |channel: u8| {
            let mixed = u32::from(channel) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
            u8::try_from(mixed / 255).unwrap_or(u8::MAX)
        };
        *to = Rgb([over(red), over(green), over(blue)]);
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::RgbaImage;

    const LIMITS: ImageLimits = ImageLimits { side_max_px: 100, data_max_bytes: 20_000 };

    fn encode(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut data = Vec::new();
        picture.write_to(Cursor::new(&mut data), format).unwrap();
        data
    }

    /// Pixels that no encoding makes shorter.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut seed = 1_u32;
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed.to_be_bytes()[0]
            };
            Rgb([next(), next(), next()])
        }))
    }

    #[test]
    fn what_fits_keeps_its_bytes() {
        let picture = DynamicImage::ImageRgb8(RgbImage::new(40, 20));
        for (format, media_type) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Gif, "image/gif"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let bytes = encode(&picture, format);
            let image = decode(&bytes, LIMITS).unwrap();
            assert_eq!((image.media_type, image.size), (media_type, [40, 20]));
            assert_eq!(STANDARD.decode(image.data).unwrap(), bytes, "{media_type}");
        }
    }

    #[test]
    fn what_is_too_large_is_made_smaller_until_it_fits() {
        let wide = encode(&DynamicImage::ImageRgba8(RgbaImage::new(400, 100)), ImageFormat::Png);
        let image = decode(&wide, LIMITS).unwrap();
        assert_eq!((image.size, image.file_size, image.media_type), ([100, 25], [400, 100], "image/png"));
        let image = decode(&encode(&noise(300, 300), ImageFormat::Png), LIMITS).unwrap();
        assert_eq!(image.media_type, "image/jpeg");
        let data = STANDARD.decode(image.data).unwrap();
        assert!(data.len() <= 20_000 && image::guess_format(&data).unwrap() == ImageFormat::Jpeg);
        let tight = ImageLimits { data_max_bytes: 1_500, ..LIMITS };
        let image = decode(&encode(&noise(300, 300), ImageFormat::Jpeg), tight).unwrap();
        assert!(image.size[0] < 100 && STANDARD.decode(image.data).unwrap().len() <= 1_500);
    }

    #[test]
    fn case_f17_what_is_not_whole_is_refused() {
        let whole = encode(&noise(50, 50), ImageFormat::Png);
        let random = [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 900]].concat();
        for bytes in [
            b"\x89PNG\r\n\x1a\n".as_slice(),
            random.as_slice(),
            &whole[..whole.len() / 2],
            b"GIF89a",
            b"\xff\xd8\xff\xe0",
            b"RIFF\x10\0\0\0WEBPVP8 ",
        ] {
            let refused = decode(bytes, LIMITS).unwrap_err().text;
            assert!(refused.contains("isn't a whole one: "), "{refused}");
        }
        assert!(decode(b"BM plain", LIMITS).unwrap_err().text.contains("none of"));
    }

    #[test]
    fn of_what_moves_the_first_frame_is_shown() {
        let mut data = Vec::new();
        {
            let mut encoder = image::codecs::gif::GifEncoder::new(&mut data);
            for _ in 0..3 {
                encoder.encode_frame(image::Frame::new(RgbaImage::new(8, 8))).unwrap();
            }
        }
        let image = decode(&data, LIMITS).unwrap();
        assert!(image.is_animated);
        assert_eq!((image.media_type, image.file_type), ("image/png", "image/gif"));
    }
}
