/** Certificates and secrets of a target, read from files when its transport opens. */
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { GovError } from '../../contract/problems.ts';
import { secretFile, secretOf } from '../config/secrets.ts';
import { refuseReadableByOthers } from '../files/private.ts';
import { invalid, type Variables } from '../config/layers.ts';
import type { SecretPlace, TlsPlaces } from './config.ts';

/** VALIDATION_ERROR where a file cannot be read, FORBIDDEN where others may read the key. */
export function secureContextOf({ ca, cert, key }: TlsPlaces): SecureContext {
  if (key !== null) refuseReadableByOthers(key);
  const options = {
    minVersion: 'TLSv1.2' as const,
    ...(ca === null ? {} : { ca: authorities(ca) }),
    ...(cert === null || key === null ? {} : { cert: read(cert), key: read(key) }),
  };
  try {
    return createSecureContext(options);
  } catch (cause) {
    throw invalid(cert ?? ca ?? 'tls', 'certificates and a key that OpenSSL takes', cause);
  }
}

/** OpenSSL accepts a text without certificates, and then trusts nobody. */
function authorities(path: string): string {
  const text = read(path);
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw invalid(path, 'certificates in PEM, got none');
  return text;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new GovError('VALIDATION_ERROR', `expected a PEM file at ${path}, which cannot be read`, { cause });
  }
}

/** Reads what a target names, as its transport will. The same errors; a variable is another process's, and is not read. */
export function checkFiles({ tls, secret }: { readonly tls: TlsPlaces; readonly secret: SecretPlace }): void {
  secureContextOf(tls);
  if (secret.file !== null) secretFile(secret.file);
}

/** Null where the target has no secret. VALIDATION_ERROR where its place is empty. */
export function secretAt({ file, env }: SecretPlace, variables: Variables): string | null {
  if (file !== null) return secretFile(file).value;
  if (env === null) return null;
  const found = secretOf(variables, env);
  if (found === null)
    throw invalid(env, 'a secret in this variable, or a file with it in the variable with _FILE');
  return found.value;
}
