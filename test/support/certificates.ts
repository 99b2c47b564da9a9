/** An authority and certificates of it, made with openssl in a folder. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const openssl = (folder: string, ...words: string[]): void => {
  execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
};

export interface Authority {
  readonly folder: string;
  /** PEM. */
  readonly cert: string;
  readonly certFile: string;
  /** Makes `NAME.pem` and `NAME.key` for localhost, gov.test and 127.0.0.1; `days` below 0: expired. */
  issue(name: string, days?: number): Issued;
}

export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

const newKey = (folder: string, name: string): string => {
  const file = join(folder, `${name}.key`);
  openssl(folder, 'genpkey', '-algorithm', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', file);
  chmodSync(file, 0o600);
  return file;
};

export function makeAuthority(folder: string, authority = 'ca'): Authority {
  const caKey = newKey(folder, authority);
  const certFile = join(folder, `${authority}.pem`);
  const subject = ['-subj', `/CN=${authority}`, '-days', '30', '-out', certFile];
  openssl(folder, 'req', '-x509', '-new', '-key', caKey, ...subject);
  return {
    folder,
    certFile,
    cert: readFileSync(certFile, 'utf8'),
    issue: (name, days = 30) => {
      const [keyFile, issued] = [newKey(folder, name), join(folder, `${name}.pem`)];
      const request = join(folder, `${name}.csr`);
      writeFileSync(join(folder, `${name}.ext`), 'subjectAltName=DNS:localhost,DNS:gov.test,IP:127.0.0.1\n');
      openssl(folder, 'req', '-new', '-key', keyFile, '-subj', `/CN=${name}`, '-out', request);
      const signed = ['-CA', certFile, '-CAkey', caKey, '-CAcreateserial', '-days', String(days)];
      const more = ['-extfile', join(folder, `${name}.ext`), '-out', issued];
      openssl(folder, 'x509', '-req', '-in', request, ...signed, ...more);
      return {
        certFile: issued,
        keyFile,
        cert: readFileSync(issued, 'utf8'),
        key: readFileSync(keyFile, 'utf8'),
      };
    },
  };
}
