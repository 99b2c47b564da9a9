/**
 * The section `issuer` of service.json: the identity provider. A client secret is in a file or in the environment, never in
 * the section. Proven by `test/host/identity/config.test.ts`.
 */
import { resolve } from 'node:path';
import { callbackFile } from '../../contract/auth-words.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import { secretFile, secretOf } from '../config/secrets.ts';
import { filePath, invalid, text, type Variables } from '../config/layers.ts';
import type { IssuerConfig } from './id-token.ts';
import { urlFault } from './url-fault.ts';

/** The section as the file has it. */
export interface IssuerFile extends Omit<IssuerConfig, 'clientSecret'> {
  /** Relative to the data directory. */
  readonly clientSecretFile?: string;
}

const url: JsonSchema = { type: 'string', pattern: '^https?://[^\\s]+$', maxLength: 255 };

export const issuerSchema: JsonSchema = {
  type: 'object',
  properties: {
    url,
    clientId: text(255),
    clientSecretFile: filePath,
    redirectUri: url,
    audience: text(255),
    algorithms: { type: 'array', items: text(16), maxItems: 100 },
    jwksUri: url,
  },
  required: ['url', 'clientId'],
  additionalProperties: false,
};

interface IssuerSource {
  readonly path: string;
  readonly dataDir: string;
  readonly env: Variables;
  readonly publicUrl: string | null;
}

const secretName = 'GOV_ISSUER_CLIENT_SECRET';

/** VALIDATION_ERROR for a redirect URI that is not the console's, FORBIDDEN for a secret that others may read. */
export function issuerOf(file: IssuerFile | undefined, place: IssuerSource): IssuerConfig | null {
  if (file === undefined) return null;
  const { clientSecretFile, redirectUri, ...rest } = file;
  const { dataDir, env } = place;
  const secret =
    secretOf(env, secretName) ??
    (clientSecretFile === undefined ? null : secretFile(resolve(dataDir, clientSecretFile)));
  const uri = redirectUriOf(redirectUri, place);
  return {
    ...rest,
    ...(secret === null ? {} : { clientSecret: secret.value }),
    ...(uri === null ? {} : { redirectUri: uri }),
  };
}

function redirectUriOf(set: string | undefined, { path, publicUrl }: IssuerSource): string | null {
  if (set === undefined) return publicUrl === null ? null : `${publicUrl}/console/${callbackFile}`;
  const from = `${path} /issuer/redirectUri`;
  const fault = urlFault(set);
  if (fault !== null) throw invalid(from, fault.replace(/^expected /, ''));
  if (!new URL(set).pathname.endsWith(`/console/${callbackFile}`)) {
    throw invalid(from, `an address that ends in /console/${callbackFile}, got ${set}`);
  }
  if (publicUrl !== null && new URL(set).origin !== publicUrl) {
    throw invalid(from, `an address below publicUrl, ${publicUrl}, got ${set}`);
  }
  return set;
}
