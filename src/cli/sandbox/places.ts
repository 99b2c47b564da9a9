/**
 * Paths that a sandbox asks the policies about: known files with keys and passwords, and known files that say what agents and shells
 * run. Tested by `test/cli/sandbox/places.test.ts`.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { placesOf } from '../../core/action/places.ts';
import { limits } from '../../contract/limits.ts';

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

/** Below a home. */
const secretsOfHome = words(`
  .ssh .aws .gnupg .kube .azure .docker/config.json .config/gcloud .config/gh .config/hub .config/op .netrc .pgpass .my.cnf .npmrc
  .yarnrc.yml .pypirc .git-credentials .vault-token .cargo/credentials .cargo/credentials.toml .terraform.d/credentials.tfrc.json
  .terraformrc .password-store .local/share/keyrings`);
const secretsOfSystem = words(`
  /etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/krb5.keytab /run/secrets`);

/** Of a workspace or a home: folders, which a sandbox can hold closed also where they do not exist, and files. */
const controlFolders = words('.claude .codex .gemini .cursor .opencode .git/hooks');
const controlFiles = words('.mcp.json opencode.json opencode.jsonc .envrc .git/config .gov');
const controlOfHome = words(`
  .claude.json .bashrc .bash_profile .bash_login .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc
  .pam_environment .inputrc .config/fish .config/environment.d .config/systemd .config/autostart .config/opencode .config/gov
  .local/share/gov .gitconfig .config/git`);

/** Known paths for any user: `~/` is the home. */
export const secretNames: readonly string[] = [
  ...secretsOfHome.map((name) => `~/${name}`),
  ...secretsOfSystem,
];
export const controlNames: readonly string[] = [...controlFolders, ...controlFiles, ...controlOfHome].map(
  (name) => `~/${name}`,
);

/** A path that may hold what an agent, a shell or gov runs. */
export interface ControlPlace {
  readonly path: string;
  /** What stands there while the program runs, so that the program cannot make it; null: nothing, where it does not exist. */
  readonly placeholder: 'folder' | 'file' | null;
}

export function controlPlaces({ workspace, home }: { workspace: string; home: string }): ControlPlace[] {
  const ofWorkspace: ControlPlace[] = [
    ...controlFolders.map((name) => ({
      path: join(workspace, name),
      // a repository that does not exist has no hooks to hold closed
      placeholder:
        name.startsWith('.git/') && !existsSync(join(workspace, '.git')) ? null : ('folder' as const),
    })),
    ...controlFiles.map((name) => ({
      path: join(workspace, name),
      placeholder: name === '.mcp.json' ? ('file' as const) : null,
    })),
  ];
  const ofHome = [...controlFolders, ...controlFiles, ...controlOfHome];
  return [...ofWorkspace, ...ofHome.map((name) => ({ path: join(home, name), placeholder: null }))];
}

/** Secrets that exist. `isCut`: the workspace has more entries than were read. */
export interface KnownSecrets {
  readonly paths: readonly string[];
  readonly isCut: boolean;
}

export function knownSecrets({
  workspace,
  homes,
}: {
  readonly workspace: string;
  readonly homes: readonly string[];
}): KnownSecrets {
  const named = [
    ...homes.flatMap((home) => secretsOfHome.map((name) => join(home, name))),
    ...secretsOfSystem,
  ];
  const { paths, isCut } = secretsBelow(workspace);
  return { paths: [...new Set([...named.filter((path) => existsSync(path)), ...paths])], isCut };
}

/** Folders of a workspace that others fill. */
const skipped = new Set(['node_modules', '.git', '.venv', 'target', '__pycache__']);

/** Reads at most `limits.sandboxEntries` entries, the nearest first. */
function secretsBelow(workspace: string): KnownSecrets {
  const paths: string[] = [];
  const folders = [workspace];
  let entries = 0;
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for (const entry of entriesOf(folder)) {
      if (++entries > limits.sandboxEntries) return { paths, isCut: true };
      const path = join(folder, entry.name);
      if (placesOf(path, {}).includes('secret')) paths.push(path);
      else if (entry.isDirectory() && !skipped.has(entry.name)) folders.push(path);
    }
  }
  return { paths, isCut: false };
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // this user may not read it, and neither may the program
  }
}
