/**
 * Decodes a picture and encodes it again as PNG: only its pixels are left. The codecs are WebAssembly, which reaches no
 * memory but its own. Loaded with the first logo. Proven by `test/host/pictures/codecs.test.ts`.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { PictureKind } from '../../core/picture.ts';

interface Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** The codecs expect the class of a browser. */
class BrowserImageData implements Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;

  constructor(data: Uint8ClampedArray, width: number, height = data.length / 4 / width) {
    this.data = data;
    this.width = width;
    this.height = height;
  }
}

/** Throws for bytes that are no picture of this kind. Cost: 0.2 s and 50 MB for 2000 × 2000 pixels. */
export async function asPng(kind: PictureKind, bytes: Uint8Array): Promise<Uint8Array> {
  (globalThis as { ImageData?: unknown }).ImageData ??= BrowserImageData;
  const pixels = await decode(kind, Uint8Array.from(bytes).buffer);
  const { default: encode, init } = await import('@jsquash/png/encode.js');
  await init(await wasm('@jsquash/png/codec/pkg/squoosh_png_bg.wasm'));
  return new Uint8Array(await encode(pixels as never)); // it reads these members alone
}

async function decode(kind: PictureKind, buffer: ArrayBuffer): Promise<Pixels> {
  switch (kind) {
    case 'png': {
      const { default: decodePng, init } = await import('@jsquash/png/decode.js');
      await init(await wasm('@jsquash/png/codec/pkg/squoosh_png_bg.wasm'));
      return decodePng(buffer) as Promise<Pixels>;
    }
    case 'jpeg': {
      const { default: decodeJpeg, init } = await import('@jsquash/jpeg/decode.js');
      await init(await wasm('@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm'));
      return decodeJpeg(buffer, { preserveOrientation: true }) as Promise<Pixels>;
    }
    case 'webp': {
      const { default: decodeWebp, init } = await import('@jsquash/webp/decode.js');
      await init(await wasm('@jsquash/webp/codec/dec/webp_dec.wasm'));
      return decodeWebp(buffer) as Promise<Pixels>;
    }
  }
}

/** A global of Node that its types leave to those of browsers. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

const compiled = new Map<string, Promise<never>>();

/** A built installation has the file beside this one (`scripts/build.ts`), a checkout in its packages. */
function wasm(specifier: string): Promise<never> {
  const known = compiled.get(specifier);
  if (known !== undefined) return known;
  const beside = new URL(`./${specifier.replace(/^.*\//, '')}`, import.meta.url);
  const path = existsSync(beside) ? fileURLToPath(beside) : createRequire(import.meta.url).resolve(specifier);
  // the types of the codecs have no name for a compiled module
  const loading = readFile(path).then((bytes) => WebAssembly.compile(bytes)) as Promise<never>;
  compiled.set(specifier, loading);
  return loading;
}
