/** The verb of a command: `push` of `git -C x push`. Proven by `test/core/action/canonical.test.ts`. */

/** Programs whose first word after their global options says what they do, with those options that have a value. */
const withVerb: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    git: /^(?:-C|-c|--git-dir|--work-tree|--namespace|--exec-path|--config-env)$/,
    hub: /^(?:-C|-c|--git-dir|--work-tree)$/,
    gov: /^(?:-C|--data|--context|--config|--base-url|--key-file|--output|-o|--profile)$/,
    npm: /^(?:--registry|--prefix|-w|--workspace|--userconfig|--loglevel)$/,
    pnpm: /^(?:--registry|-C|--dir|--filter|-F)$/,
    yarn: /^(?:--cwd|--registry)$/,
    docker: /^(?:-H|--host|--context|-c|--config|-l|--log-level)$/,
    podman: /^(?:-H|--url|--connection|-c)$/,
    nerdctl: /^(?:-H|--address|-n|--namespace)$/,
    kubectl: /^(?:-n|--namespace|--context|--kubeconfig|--cluster|--user|-s|--server|--token)$/,
    helm: /^(?:-n|--namespace|--kube-context|--kubeconfig)$/,
    terraform: /^$/,
    tofu: /^$/,
    pulumi: /^(?:-C|--cwd|--color|-v|--verbose)$/,
    cargo: /^(?:-C|--config|--color|-Z)$/,
    go: /^-C$/,
    aws: /^(?:--profile|--region|--output|--endpoint-url)$/,
    gcloud: /^(?:--project|--account|--configuration)$/,
    az: /^(?:--subscription|--output|-o)$/,
    gh: /^(?:-R|--repo)$/,
    glab: /^(?:-R|--repo)$/,
    systemctl: /^(?:-H|--host|-M|--machine|-t|--type)$/,
    ...Object.fromEntries(
      (
        'launchctl brew apt apt-get pip pip3 uv poetry claude codex gemini opencode cursor-agent twine gem vercel netlify bun bundle pipenv pdm hatch pipx ' +
        'fly flyctl heroku wrangler doctl serverless eb cdk'
      )
        .split(' ')
        .map((name) => [name, /^$/]),
    ),
  }),
);

/** Returns `` for a program without verbs, and null where the word is not known. */
export function verbOf(program: string, args: readonly (string | null)[]): string | null {
  const valued = withVerb.get(program);
  if (valued === undefined) return '';
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (arg === null || arg === undefined) return null;
    if (valued.test(arg)) at += 1;
    else if (!arg.startsWith('-')) return arg;
  }
  return '';
}

/** Returns the words from the verb on, joined by blanks, `?` for one that is not known; all words of a program without verbs. */
export function wordsAfter(program: string, args: readonly (string | null)[]): string {
  const verb = verbOf(program, args);
  const from = verb === null || verb === '' ? 0 : args.indexOf(verb);
  return args
    .slice(from)
    .map((arg) => arg ?? '?')
    .join(' ');
}

/** Tells options from operands. A word that is not known may be either. */
export function splitArguments(args: readonly (string | null)[]): {
  readonly flags: readonly (string | null)[];
  readonly operands: readonly (string | null)[];
} {
  const flags = new Set<string | null>();
  const operands: (string | null)[] = [];
  let isOver = false;
  for (const arg of args) {
    if (arg === null || isOver || !arg.startsWith('-') || arg === '-') {
      operands.push(arg);
      if (!isOver && (arg === null || arg.startsWith('*'))) flags.add(null);
    } else if (arg === '--') isOver = true;
    else {
      flags.add(arg.split('=', 1)[0] ?? arg);
      if (/^-[A-Za-z]{2,64}$/.test(arg)) for (const letter of arg.slice(1)) flags.add(`-${letter}`);
    }
  }
  return { flags: [...flags], operands };
}
