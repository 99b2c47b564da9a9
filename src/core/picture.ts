/**
 * Kind and size of a picture, from its structure and before any decoding: PNG (W3C PNG, third edition), JPEG (ITU-T
 * T.81), lossy WebP (RFC 9649). A picture is one file of its kind from the first byte to the last: bytes after its end, which
 * could be another file, are refused, and so are animations. Attacker controlled; nothing here throws. Proven by
 * `test/core/picture.test.ts`.
 */

export type PictureKind = 'png' | 'jpeg' | 'webp';

export interface Picture {
  readonly kind: PictureKind;
  readonly width: number;
  readonly height: number;
}

/** What is wrong with the bytes, as the end of a sentence. */
export interface PictureFault {
  readonly fault: string;
}

export function readPicture(bytes: Uint8Array): Picture | PictureFault {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (starts(bytes, pngStart)) return readPng(bytes, view);
  if (starts(bytes, [0xff, 0xd8, 0xff])) return readJpeg(bytes, view);
  if (textAt(bytes, 0) === 'RIFF' && textAt(bytes, 8) === 'WEBP') return readWebp(bytes, view);
  return { fault: 'got other bytes at its start' };
}

const pngStart = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const starts = (bytes: Uint8Array, start: readonly number[]): boolean =>
  start.every((byte, at) => bytes[at] === byte);

const textAt = (bytes: Uint8Array, at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));

const cut: PictureFault = { fault: 'got one that is cut off' };
const more: PictureFault = { fault: 'got bytes after its end' };
const animated: PictureFault = { fault: 'got an animation' };

/** A size of 0 is none. */
const sized = (kind: PictureKind, width: number, height: number): Picture | PictureFault =>
  width === 0 || height === 0 ? { fault: 'got one without pixels' } : { kind, width, height };

function readPng(bytes: Uint8Array, view: DataView): Picture | PictureFault {
  let size: Picture | PictureFault | null = null;
  for (let at = pngStart.length; at + 12 <= bytes.length;) {
    const length = view.getUint32(at);
    const type = textAt(bytes, at + 4);
    const end = at + 12 + length;
    if (end > bytes.length) return cut;
    if (size === null) {
      if (type !== 'IHDR' || length !== 13) return { fault: 'got a PNG without IHDR' };
      size = sized('png', view.getUint32(at + 8), view.getUint32(at + 12));
    }
    if (type === 'acTL') return animated;
    if (type === 'IEND') return end === bytes.length ? size : more;
    at = end;
  }
  return cut;
}

/** Start of frame: size of the picture. Not C4 (tables), C8 (reserved), CC (tables). */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
/** Markers without a segment: TEM, RST0-7. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);

/** Progressive pictures have about 10. Each scan of a few bytes costs a decoder a pass over all pixels: 0.7 ms for 4 million. */
const mostScans = 100;

function readJpeg(bytes: Uint8Array, view: DataView): Picture | PictureFault {
  let size: Picture | PictureFault | null = null;
  let scans = 0;
  for (let at = 2; at + 2 <= bytes.length;) {
    if (bytes[at] !== 0xff) return { fault: 'got a JPEG without a marker where one belongs' };
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1; // fill byte
      continue;
    }
    if (marker === 0xd9) return size === null ? cut : at + 2 === bytes.length ? size : more;
    if (isBare(marker)) {
      at += 2;
      continue;
    }
    if (at + 4 > bytes.length) return cut;
    const length = view.getUint16(at + 2);
    if (length < 2 || at + 2 + length > bytes.length) return cut;
    if (isFrame(marker)) {
      if (size !== null || length < 8) return { fault: 'got a JPEG with several frames' };
      size = sized('jpeg', view.getUint16(at + 7), view.getUint16(at + 5));
    }
    at += 2 + length;
    if (marker !== 0xda) continue;
    scans += 1;
    if (scans > mostScans) return { fault: `got a JPEG with more than ${mostScans} scans` };
    at = scanEnd(bytes, at);
  }
  return cut;
}

/** The next marker after entropy-coded data, in which FF00 is a byte and RST0-7 are part of it. */
function scanEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at >= 0 && at + 1 < bytes.length;) {
    const next = bytes[at + 1] ?? 0;
    if (next !== 0 && !isBare(next) && next !== 0xff) return at;
    at = bytes.indexOf(0xff, at + (next === 0xff ? 1 : 2));
  }
  return bytes.length;
}

/**
 * The decoder of this package (libwebp of November 2020) writes beyond its memory at prefix codes of the lossless format
 * (CVE-2023-4863), which compressed transparency has too. No such bytes may reach it. It takes a first chunk of another
 * name for a picture without a header, so that chunk is refused.
 */
function readWebp(bytes: Uint8Array, view: DataView): Picture | PictureFault {
  if (bytes.length < 20) return cut;
  const declared = view.getUint32(4, true) + 8;
  if (declared > bytes.length) return cut;
  if (declared < bytes.length) return more;
  let canvas: Picture | PictureFault | null = null;
  let image: Picture | PictureFault | null = null;
  for (let at = 12; at + 8 <= bytes.length;) {
    const length = view.getUint32(at + 4, true);
    const start = at + 8;
    if (start + length > bytes.length) return cut;
    const type = textAt(bytes, at);
    if (type === 'ANIM' || type === 'ANMF') return animated;
    if (type === 'VP8L' || (type === 'ALPH' && isPacked(bytes[start])))
      return { fault: 'got a WebP with lossless or transparent parts, which PNG can have' };
    if (at === 12 && type !== 'VP8X' && type !== 'VP8 ') return { fault: 'got a WebP without a picture' };
    if (type === 'VP8X') {
      if (length < 10) return cut;
      canvas = sized('webp', 1 + uint24(view, start + 4), 1 + uint24(view, start + 7));
    }
    if (type === 'VP8 ') {
      if (image !== null || length < 10) return { fault: 'got a WebP with several pictures, or none' };
      image = lossySize(view, start);
    }
    at = start + length + (length % 2);
  }
  if (image === null) return { fault: 'got a WebP without a picture' };
  if (canvas === null || 'fault' in canvas || 'fault' in image) return image;
  const isSame = canvas.width === image.width && canvas.height === image.height;
  return isSame ? image : { fault: 'got a WebP that states two sizes' };
}

/** RFC 9649 section 2.7.1.2: the lowest two bits of `ALPH` are 0 for values that are not compressed. */
const isPacked = (method = 1): boolean => (method & 3) !== 0;

const uint24 = (view: DataView, at: number): number =>
  view.getUint16(at, true) + (view.getUint8(at + 2) << 16);

/** RFC 6386 section 9.1: a key frame starts with 9d 01 2a, then 14 bits of width and of height. */
function lossySize(view: DataView, at: number): Picture | PictureFault {
  const isKeyFrame = view.getUint8(at + 3) === 0x9d && view.getUint16(at + 4) === 0x012a;
  if (!isKeyFrame) return { fault: 'got a WebP without a key frame' };
  return sized('webp', view.getUint16(at + 6, true) & 0x3fff, view.getUint16(at + 8, true) & 0x3fff);
}
