/**
 * Export artifacts sealed with the master key, in frames, so that a reader can open a part. A random salt of 32
 * bytes comes first, then frames of 64 KiB. AES-256-GCM (NIST SP 800-38D) seals each frame. The nonce contains
 * the frame number and whether it is the last one (STREAM, Hoang et al. 2015). HKDF-SHA-256 (RFC 5869) derives
 * a key for each artifact. An attacker therefore cannot swap frames or cut off the end. Artifacts from before
 * the first master key are read in clear. Proven by `test/host/exports/artifacts.test.ts`.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import {
  artifactLost,
  type ArtifactOf,
  type Artifacts,
  type ArtifactWriter,
  type ByteRange,
} from '../../service/hosting/artifacts.ts';

/** Prefix of the name of a sealed artifact. */
const mark = 'sealed1.';
const saltBytes = 32;
const frameBytes = 64 * 1024;
const tagBytes = 16;
const sealedFrameBytes = frameBytes + tagBytes;

export function sealedArtifacts(
  inner: Artifacts,
  { masterKey, randomBytes }: { masterKey: Uint8Array; randomBytes: (size: number) => Uint8Array },
): Artifacts {
  return {
    freeBytes: () => inner.freeBytes(),
    remove: (of) => inner.remove(of),
    create: async (of) => {
      const salt = randomBytes(saltBytes);
      const writer = await inner.create(of);
      return new SealedWriter(writer, { salt, key: keyOf(masterKey, of, salt) });
    },
    read: (of, made, range) => {
      if (!made.artifact.startsWith(mark)) return inner.read(of, made, range);
      const artifact = made.artifact.slice(mark.length);
      const sealed = { artifact, sizeBytes: sealedSize(made.sizeBytes) };
      const bytes = (part: ByteRange): AsyncIterable<Uint8Array> => inner.read(of, sealed, part);
      return opened({ of, size: made.sizeBytes, masterKey, bytes }, range);
    },
  };
}

const keyOf = (masterKey: Uint8Array, { projectId, exportId }: ArtifactOf, salt: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, salt, `gov.artifacts/v1\n${projectId}\n${exportId}`, 32));

/** An empty artifact is one empty frame. */
const framesOf = (size: number): number => Math.max(1, Math.ceil(size / frameBytes));
const sealedSize = (size: number): number => saltBytes + size + framesOf(size) * tagBytes;

/** 12 bytes. A frame number is below 2^32, so an artifact has at most 256 TiB. */
function nonceOf(frame: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(frame, 7);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

class SealedWriter implements ArtifactWriter {
  readonly #inner: ArtifactWriter;
  readonly #key: Buffer;
  /** The bytes to write next: the salt, then sealed frames. */
  #ready: Uint8Array[];
  /**
   * Bytes of the next frame. It is never empty after the first write, so that the last frame is known as the
   * last.
   */
  #held: Uint8Array = new Uint8Array();
  #frames = 0;

  constructor(inner: ArtifactWriter, { salt, key }: { salt: Uint8Array; key: Buffer }) {
    this.#inner = inner;
    this.#key = key;
    this.#ready = [salt];
  }

  write(bytes: Uint8Array): Promise<void> {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    let at = 0;
    for (; all.length - at > frameBytes; at += frameBytes)
      this.#seal(all.subarray(at, at + frameBytes), false);
    this.#held = Buffer.from(all.subarray(at)); // the caller may reuse its buffer
    return this.#flush();
  }

  #seal(frame: Uint8Array, isLast: boolean): void {
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(this.#frames, isLast));
    this.#ready.push(cipher.update(frame), cipher.final(), cipher.getAuthTag());
    this.#frames += 1;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#ready);
    this.#ready = [];
    if (bytes.length > 0) await this.#inner.write(bytes);
  }

  async finish(): Promise<string> {
    this.#seal(this.#held, true);
    await this.#flush();
    return mark + (await this.#inner.finish());
  }

  abort(): Promise<void> {
    return this.#inner.abort();
  }
}

interface SealedSource {
  readonly of: ArtifactOf;
  /** Size of the plain artifact. */
  readonly size: number;
  readonly masterKey: Uint8Array;
  readonly bytes: (part: ByteRange) => AsyncIterable<Uint8Array>;
}

async function* opened(
  { of, size, masterKey, bytes }: SealedSource,
  { from, to }: ByteRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (from >= to) return;
  const salt = await whole(bytes({ from: 0, to: saltBytes }));
  const key = keyOf(masterKey, of, salt);
  const last = framesOf(size) - 1;
  const frames = { from: Math.floor(from / frameBytes), to: Math.ceil(to / frameBytes) };
  const endOf = (frame: number): number => Math.min(saltBytes + frame * sealedFrameBytes, sealedSize(size));
  const part = { from: saltBytes + frames.from * sealedFrameBytes, to: endOf(frames.to) };
  let frame = frames.from;
  let left: Uint8Array = new Uint8Array();
  for await (const chunk of bytes(part)) {
    const all = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
    const open: Uint8Array[] = [];
    let at = 0;
    while (frame < frames.to && all.length - at >= endOf(frame + 1) - endOf(frame)) {
      const end = at + endOf(frame + 1) - endOf(frame);
      const plain = openFrame(all.subarray(at, end), { of, key, nonce: nonceOf(frame, frame === last) });
      const start = frame * frameBytes;
      open.push(plain.subarray(Math.max(0, from - start), to - start));
      at = end;
      frame += 1;
    }
    left = all.subarray(at);
    if (open.length > 0) yield Buffer.concat(open);
  }
  if (frame < frames.to) throw artifactLost(of);
}

function openFrame(
  sealed: Uint8Array,
  { of, key, nonce }: { readonly of: ArtifactOf; readonly key: Buffer; readonly nonce: Buffer },
): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const plain = decipher.update(sealed.subarray(0, -tagBytes));
  try {
    decipher.final();
  } catch (cause) {
    throw artifactLost(of, cause);
  }
  return plain;
}

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
