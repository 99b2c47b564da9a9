/**
 * Moves a plane of a user to the Unix user `gov`, so that the user's agent cannot write its files: the directory goes to
 * /var/lib/gov/NAME, and systemd starts it. Runs as root, after a question. The user may change files meanwhile, so the
 * directory is taken from its owner before anything in it, links are not followed, and a file with a second name is refused.
 * A crash leaves the directory in one of the two places, and the command can be repeated.
 * Tested by `test/cli/agents/move-plane.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { shellWord } from '../../core/shell-word.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { codeOf } from '../../files/write-fault.ts';

const user = 'gov';
const home = '/var/lib/gov';
const units = '/etc/systemd/system';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Whether a program of another user than root and `gov` can write the files of a plane. */
export function isOfUser(dataDir: string): boolean {
  const { uid } = lstatSync(dataDir);
  return uid !== 0 && uid !== ownerNamed()?.uid;
}

export const movedTo = (dataDir: string): string => join(home, basename(dataDir));

/** The user `gov`; null where the machine has none. */
function ownerNamed(): Owner | null {
  const { stdout, status } = spawnSync('getent', ['passwd', user], { encoding: 'utf8' });
  const [, , uid = '', gid = ''] = status === 0 ? stdout.trim().split(':') : [];
  return uid === '' ? null : { uid: Number(uid), gid: Number(gid) };
}

/** Errors: exit 2 where the plane cannot be moved; nothing was changed but the user, which is made. */
export function prepareMove(dataDir: string): Owner {
  const to = movedTo(dataDir);
  if (existsSync(to))
    throw usage(`${to}: expected no directory, got one`, 'move it away, or give --keep-plane');
  if (existsSync(home) && !lstatSync(home).isDirectory())
    throw usage(
      `${home}: expected a directory, got a link, such as of a unit with DynamicUser`,
      'give --keep-plane',
    );
  if (ownerNamed() === null)
    run('useradd', [
      '--system',
      '--user-group',
      '--no-create-home',
      '--home-dir',
      home,
      '--shell',
      '/usr/sbin/nologin',
      user,
    ]);
  const owner = ownerNamed();
  if (owner === null) throw new CliError(exit.error, `expected the user ${user}, got none`);
  const program = [process.execPath, resolve(process.argv[1] ?? '')];
  if (spawnSync('runuser', ['-u', user, '--', ...program, 'version'], { cwd: '/' }).status !== 0)
    throw usage(
      `expected a gov that the user ${user} can run, got ${program.join(' ')}`,
      'install gov for all users, below /opt or /usr; or give --keep-plane',
    );
  return owner;
}

/** Moves the directory of a stopped plane. Returns its new place. */
export function moveDirectory(dataDir: string, owner: Owner, to = movedTo(dataDir)): string {
  makeFolder(resolve(to, '..'), 0o755);
  try {
    renameSync(dataDir, to);
    take(to, owner);
  } catch (cause) {
    if (codeOf(cause) !== 'EXDEV') throw cause;
    // another file system: the copy is whole before the original goes
    cpSync(dataDir, to, { recursive: true, preserveTimestamps: true, errorOnExist: true, force: false });
    take(to, owner);
    rmSync(dataDir, { recursive: true });
  }
  return to;
}

/** Gives a directory to its new owner, before its entries: from then on its old owner adds nothing. */
function take(folder: string, owner: Owner): void {
  lchownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = lstatSync(path);
    if (found.isDirectory()) take(path, owner);
    else if (found.isFile() && found.nlink === 1) lchownSync(path, owner.uid, owner.gid);
    else throw usage(`${path}: expected a file with one name, got a link or another kind of file`);
  }
}

/** Writes the unit and starts it. Returns the command that starts the plane where systemd does not run. */
export function startMoved(dataDir: string): string | null {
  const program = [process.execPath, resolve(process.argv[1] ?? '')].map(shellWord).join(' ');
  if (!existsSync('/run/systemd/system'))
    return `runuser -u ${user} -- ${program} plane serve --data ${shellWord(dataDir)}`;
  const name = `gov-plane-${basename(dataDir)}.service`;
  writeFileSync(join(units, name), unitOf(program, dataDir));
  run('systemctl', ['daemon-reload']);
  run('systemctl', ['enable', '--now', name]);
  return null;
}

/** As `docs/systemd/gov-plane.system.service`, with a user of its own, which root can name. */
export const unitOf = (program: string, dataDir: string): string => `[Unit]
Description=gov data plane ${basename(dataDir)}
After=network-online.target
Wants=network-online.target

[Service]
Type=notify
NotifyAccess=all
Environment=NODE_ENV=production
ExecStart=${program} plane serve --data ${shellWord(dataDir)}
ExecReload=/bin/kill -HUP $MAINPID
WatchdogSec=30
Restart=on-failure
RestartSec=2
TimeoutStopSec=45
User=${user}
Group=${user}
UMask=0077
LimitNOFILE=65536
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=${dataDir}
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX

[Install]
WantedBy=multi-user.target
`;

function run(program: string, argv: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, argv, { encoding: 'utf8' });
  if (status === 0) return;
  const why = error?.message ?? (stderr.trim() || `it ended with ${status}`);
  throw new CliError(exit.error, `${program}: ${why}`, { code: 'MOVE_FAILED' });
}
