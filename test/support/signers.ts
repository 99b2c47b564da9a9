/**
 * Keys that sign approvals: an authenticator of WebAuthn in memory, and SSH keys of the real ssh-keygen. Each can lie in the
 * ways that an attacker can.
 */
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, hash, randomBytes, sign, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const userPresent = 0x01;
export const userVerified = 0x04;
const attested = 0x40;

interface Lies {
  readonly origin?: string;
  readonly rpId?: string;
  readonly flags?: number;
  readonly type?: string;
  readonly client?: Record<string, unknown>;
}

type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

export class VirtualPasskey {
  readonly id = randomBytes(32);
  counter = 0;
  readonly #origin: string;
  readonly #rpId: string;
  readonly #keys: { publicKey: KeyObject; privateKey: KeyObject };

  constructor(origin: string, { algorithm = 'ES256', rpId }: { algorithm?: Algorithm; rpId?: string } = {}) {
    this.#origin = origin;
    this.#rpId = rpId ?? new URL(origin).hostname;
    this.#keys =
      algorithm === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : algorithm === 'EdDSA'
          ? generateKeyPairSync('ed25519')
          : generateKeyPairSync('rsa', { modulusLength: 2048 });
  }

  get publicKey(): Buffer {
    return this.#keys.publicKey.export({ format: 'der', type: 'spki' });
  }

  /** As `navigator.credentials.create` answers. */
  create(challenge: string, lies: Lies = {}) {
    const id = this.id;
    const length = Buffer.from([0, id.length]);
    const credential = Buffer.concat([Buffer.alloc(16), length, id, this.coseKey()]);
    return {
      id: id.toString('base64url'),
      clientDataJSON: this.#client({ type: 'webauthn.create', challenge }, lies).toString('base64url'),
      authenticatorData: Buffer.concat([this.#head(attested, lies), credential]).toString('base64url'),
      publicKey: this.publicKey.toString('base64url'),
    };
  }

  /** As `navigator.credentials.get` answers. */
  get(challenge: string, lies: Lies = {}) {
    const client = this.#client({ type: 'webauthn.get', challenge }, lies);
    const data = this.#head(0, lies);
    const signed = Buffer.concat([data, hash('sha256', client, 'buffer')]);
    const digest = this.#keys.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
    return {
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: sign(digest, signed, this.#keys.privateKey).toString('base64url'),
    };
  }

  #client(data: { type: string; challenge: string }, { origin = this.#origin, type, client }: Lies): Buffer {
    const said = { ...data, ...(type === undefined ? {} : { type }), origin, crossOrigin: false, ...client };
    return Buffer.from(JSON.stringify(said));
  }

  #head(more: number, { rpId = this.#rpId, flags = userPresent | userVerified }: Lies): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([hash('sha256', rpId, 'buffer'), Buffer.from([flags | more]), counter]);
  }

  /** COSE_Key (RFC 9052), written by hand. */
  coseKey(): Buffer {
    const { kty, x = '', y = '', n = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const of = (head: string, text = ''): Buffer =>
      Buffer.concat([Buffer.from(head, 'hex'), Buffer.from(text, 'base64url')]);
    if (kty === 'EC') return Buffer.concat([of('a5010203262001215820', x), of('225820', y)]);
    if (kty === 'OKP') return of('a4010103272006215820', x);
    return Buffer.concat([of('a401030339010020590100', n), of('2143010001')]);
  }
}

/** An SSH key in a folder of its own. */
export class SshSigner {
  readonly #dir = mkdtempSync(join(tmpdir(), 'gov-ssh-'));
  readonly file = join(this.#dir, 'key');

  /** `-t ed25519`, `-t rsa -b 3072`, … */
  constructor(kind: readonly string[] = ['-t', 'ed25519']) {
    run(['-q', '-N', '', '-C', 'ada@example', ...kind, '-f', this.file]);
  }

  get publicKey(): string {
    return readFileSync(`${this.file}.pub`, 'utf8').trim();
  }

  sign(text: string, { namespace = 'gov-approval@v1', hash: digest = 'sha512' } = {}): string {
    const file = join(this.#dir, 'statement');
    writeFileSync(file, text);
    rmSync(`${file}.sig`, { force: true });
    run(['-Y', 'sign', '-q', '-n', namespace, '-O', `hashalg=${digest}`, '-f', this.file, file]);
    return readFileSync(`${file}.sig`, 'utf8');
  }

  end(): void {
    rmSync(this.#dir, { recursive: true });
  }
}

function run(args: readonly string[]): void {
  const { status, stderr } = spawnSync('ssh-keygen', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ssh-keygen ${args.join(' ')}: ${stderr}`);
}
