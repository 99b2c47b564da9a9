/** The plane of a user that becomes one of the user gov. What needs root is skipped for others. */
import {
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isOfUser, moveDirectory, unitOf } from '../../../src/cli/agents/move-plane.ts';
import { planeOfSudo } from '../../../src/cli/agents/sudo.ts';

const isRoot = process.getuid?.() === 0;
const someone = { uid: 54_321, gid: 54_321 };
const other = { uid: 54_322, gid: 54_322 };

/** A home of somebody with a plane, and the file of users that names it. */
function userWithPlane() {
  const root = mkdtempSync(join(tmpdir(), 'gov-move-'));
  const home = join(root, 'home');
  const dataDir = join(home, 'plane');
  mkdirSync(join(home, '.config/gov'), { recursive: true });
  mkdirSync(join(dataDir, 'keys'), { recursive: true });
  const files = [
    join(dataDir, 'plane.json'),
    join(dataDir, 'keys/a.pem'),
    join(home, '.config/gov/config.json'),
  ];
  const contexts = { mine: { kind: 'plane', dataDir } };
  for (const file of files) writeFileSync(file, JSON.stringify({ currentContext: 'mine', contexts }));
  const passwd = join(root, 'passwd');
  writeFileSync(
    passwd,
    `root:x:0:0:root:/root:/bin/sh\nada:x:${someone.uid}:${someone.gid}:Ada:${home}:/bin/sh\n`,
  );
  const own = (uid: number) => {
    for (const path of [...files, dataDir, join(dataDir, 'keys')]) chownSync(path, uid, uid);
  };
  return { root, dataDir, passwd, own };
}

describe('the plane of the user who ran sudo', () => {
  it.skipIf(!isRoot)('is the current context of that user, whose files it has to be', () => {
    const { dataDir, passwd, own } = userWithPlane();
    own(someone.uid);
    const env = { SUDO_UID: `${someone.uid}` };
    expect(planeOfSudo(env, passwd)).toEqual({ name: 'mine', context: { kind: 'plane', dataDir } });
    expect(planeOfSudo({}, passwd)).toBeNull();
    expect(planeOfSudo({ SUDO_UID: '77' }, passwd)).toBeNull();
    chownSync(join(dataDir, 'plane.json'), other.uid, other.gid);
    expect(() => planeOfSudo(env, passwd)).toThrow(`expected a file of user ${someone.uid}`);
  });
});

describe('a plane that moves', () => {
  it.skipIf(!isRoot)('belongs to its new owner alone, with all its files', () => {
    const { root, dataDir, own } = userWithPlane();
    own(someone.uid);
    expect(isOfUser(dataDir)).toBe(true);
    const to = moveDirectory(dataDir, other, join(root, 'lib/plane'));
    for (const name of ['', 'keys', 'keys/a.pem', 'plane.json'])
      expect(statSync(join(to, name)).uid).toBe(other.uid);
    expect((statSync(to).mode & 0o777).toString(8)).toBe('700');
    expect(() => lstatSync(dataDir)).toThrow('ENOENT');
  });

  it.skipIf(!isRoot)('gives no file of somebody else to its new owner', () => {
    for (const make of [linkSync, symlinkSync]) {
      const { root, dataDir } = userWithPlane();
      const secret = join(root, 'secret');
      writeFileSync(secret, '');
      make(secret, join(dataDir, 'z'));
      expect(() => moveDirectory(dataDir, other, join(root, 'lib/plane'))).toThrow(
        'expected a file with one name',
      );
      expect(statSync(secret).uid).toBe(0);
    }
  });

  it('is served by a unit of the user gov, which can write there alone', () => {
    const unit = unitOf('/opt/node /opt/gov.cjs', '/var/lib/gov/mine');
    expect(unit).toContain('ExecStart=/opt/node /opt/gov.cjs plane serve --data /var/lib/gov/mine\n');
    expect(unit).toMatch(/^User=gov\n/m);
    expect(unit).toMatch(/^ReadWritePaths=\/var\/lib\/gov\/mine$/m);
  });
});
