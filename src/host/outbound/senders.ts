/**
 * The channels of deliveries that an installation configures: a mail server, and on a plane a folder for files. Proven by
 * `test/host/outbound/senders.test.ts`.
 */
import { relative, resolve } from 'node:path';
import type { Outbound } from '../../service/hosting/outbound.ts';
import { filePath, invalid, type Variables } from '../config/layers.ts';
import { fileSender } from './folder.ts';
import { mailSender } from './mail.ts';
import { smtpOf, type SmtpFile } from './smtp.ts';

/** Members of plane.json; service.json has only `smtp`. */
export interface SendersFile {
  readonly smtp?: SmtpFile;
  /** The folder for deliveries as files, relative to the data directory. It must exist, outside of that directory. */
  readonly deliveryDir?: string;
}

export const folderMembers = { deliveryDir: filePath };

export type Senders = Pick<Outbound, 'mail' | 'file'>;

interface SendersSource {
  readonly dataDir: string;
  readonly path: string;
  readonly env: Variables;
}

/** VALIDATION_ERROR names the member or the variable. */
export function sendersOf(file: SendersFile, { dataDir, path, env }: SendersSource): Senders {
  const smtp = smtpOf(file, { dataDir, path, env });
  const folder = folderOf(file.deliveryDir, { dataDir, path, env });
  return {
    ...(smtp === null ? {} : { mail: mailSender(smtp) }),
    ...(folder === null ? {} : { file: fileSender(folder) }),
  };
}

/** GOV_DELIVERY_DIR, else the member of the file. */
function folderOf(inFile: string | undefined, { dataDir, path, env }: SendersSource): string | null {
  const set = env['GOV_DELIVERY_DIR'];
  const [folder, from] =
    set === undefined || set === '' ? [inFile, `${path} /deliveryDir`] : [set, 'GOV_DELIVERY_DIR'];
  if (folder === undefined) return null;
  const resolved = resolve(dataDir, folder);
  const isApart = (one: string, other: string): boolean => relative(one, other).startsWith('..');
  // a delivery must not lie between keys and records, nor they between deliveries
  if (isApart(dataDir, resolved) && isApart(resolved, dataDir)) return resolved;
  throw invalid(from, `a folder outside of the data directory ${dataDir}, got ${resolved}`);
}
