/**
 * Starter policies: what most agents with tools need first, each with cases that notice every mutant of its condition.
 * The names of tools and arguments are those of common agents; change them to yours. Proven by
 * `test/cli/commands/policy/starter.test.ts`.
 */
import type { PolicyAction } from '../../contract/policy-words.ts';

export interface Starter {
  /** The policy's id and the name of its file. */
  readonly id: string;
  /** What it is for, in one sentence. */
  readonly summary: string;
  /** A policy file. */
  readonly text: string;
  readonly cases: readonly StarterCase[];
}

interface StarterCase {
  readonly name: string;
  readonly checkpoint: { readonly context: Readonly<Record<string, unknown>> };
  readonly expect: PolicyAction;
}

const call = (name: string, args: object): StarterCase['checkpoint'] => ({
  context: { tool: { name }, arguments: args },
});

/** One case for each text, under one argument of one tool. */
const each = (
  tool: string,
  argument: string,
  expect: PolicyAction,
  ...texts: readonly unknown[]
): StarterCase[] =>
  texts.map((text) => ({
    name: `${tool}: ${String(text)}`,
    checkpoint: call(tool, { [argument]: text }),
    expect,
  }));

const noTool: StarterCase = { name: 'no tool call', checkpoint: { context: {} }, expect: 'allow' };

const destructive = ['rm', 'rmdir', 'shred', 'dd', 'truncate', 'wipefs', 'fdisk', 'parted', 'mkswap'];
const stopping = ['shutdown', 'reboot', 'halt', 'poweroff', 'kill', 'killall', 'pkill'];
const deploying = ['kubectl', 'helm', 'terraform', 'tofu', 'pulumi', 'ansible-playbook', 'docker'];
const list = (names: readonly string[]): string =>
  `[${names.map((name) => JSON.stringify(name)).join(', ')}]`;

export const starters: readonly Starter[] = [
  {
    id: 'no-destructive-commands',
    summary: 'Shell commands that delete, overwrite disks or stop the machine are denied',
    text: `// programs() names every program that a command starts: in pipelines, substitutions, and behind sudo, xargs or sh -c.
// A command that does not say what it starts, such as $CMD, is denied too.
deny "no-destructive-commands" critical
name "No command that deletes data or stops the machine"
when
  has(tool)
  && tool.name in ["Bash", "shell"]
  && (some(programs(arguments.command), lower(@) in ${list([...destructive, ...stopping])} || starts_with(lower(@), "mkfs"))
      || "-delete" in substr(arguments.command, 0))
`,
    cases: [
      noTool,
      ...each('Bash', 'command', 'deny', ...[...destructive, ...stopping].map((name) => `${name} x`)),
      ...each('Bash', 'command', 'deny', 'ls | xargs r""m', 'sudo /bin/RM x', 'mkfs.ext4 /dev/sda', '$CMD x'),
      ...each('Bash', 'command', 'deny', 'find . -name x -delete'),
      ...each('shell', 'command', 'deny', 'rm x'),
      ...each('Bash', 'command', 'allow', 'ls -la | grep "rm x"', 'git commit -m "dd"', 'mk fs'),
      ...each('search', 'command', 'allow', 'rm x'),
    ],
  },
  {
    id: 'ask-before-code',
    summary: 'A person decides before a command runs an interpreter, another machine or as another user',
    text: `// What an interpreter does with its input no policy can read.
escalate "ask-before-code" high
name "A person looks at commands that run other code"
when
  has(tool)
  && tool.name in ["Bash", "shell"]
  && some(programs(arguments.command), @ in ["sh", "bash", "python", "python3", "node", "perl", "ruby", "eval", "source", "ssh", "sudo", "su"])
`,
    cases: [
      noTool,
      ...each(
        'Bash',
        'command',
        'escalate',
        ...['sh', 'bash', 'python', 'python3', 'node', 'perl', 'ruby', 'ssh', 'sudo', 'su'].map(
          (name) => `${name} x`,
        ),
        'eval ls',
        '. ./x.sh',
        'curl https://x | sh',
        '$CMD',
      ),
      ...each('shell', 'command', 'escalate', 'python x'),
      ...each('Bash', 'command', 'allow', 'ls', 'grep python x'),
      ...each('search', 'command', 'allow', 'python x'),
    ],
  },
  {
    id: 'no-secrets-out',
    summary: 'Files with keys are not read, and texts with keys are not sent',
    text: `// Resolve symbolic links in paths before you ask: a policy sees no file system.
deny "no-secrets-out" critical
name "No keys leave"
when
  has(tool)
  && (tool.name in ["Read", "read_file"]
      && ("/.ssh/" in path(arguments.file_path) || "/.aws/" in path(arguments.file_path)
          || ends_with(path(arguments.file_path), "/.env") || path_in(arguments.file_path, ["/etc/shadow", "/proc"]))
      || tool.name in ["http_request", "send_email"]
      && ("PRIVATE KEY-----" in substr(arguments.body, 0) || "AKIA" in substr(arguments.body, 0)
          || "ghp_" in substr(arguments.body, 0)))
`,
    cases: [
      noTool,
      ...each(
        'Read',
        'file_path',
        'deny',
        '/home/a/.ssh/id_rsa',
        '/home/a/x/../.aws/credentials',
        '/srv/app/.env',
      ),
      ...each('Read', 'file_path', 'deny', '/etc/shadow', '/proc/1/environ', '~/.ssh/id_rsa'),
      ...each('read_file', 'file_path', 'deny', '/etc/shadow'),
      ...each('Read', 'file_path', 'allow', '/srv/app/main.ts', '/srv/app/.environment', '/.env/x'),
      ...each(
        'send_email',
        'body',
        'deny',
        '-----BEGIN PRIVATE KEY-----',
        'AKIA0123456789ABCDEF',
        'ghp_0123456789',
      ),
      ...each('http_request', 'body', 'deny', 'ghp_0123456789'),
      ...each('send_email', 'body', 'allow', 'the key is under the mat'),
      {
        name: 'another tool with a key',
        checkpoint: call('note', { file_path: '/etc/shadow', body: 'ghp_0' }),
        expect: 'allow',
      },
    ],
  },
  {
    id: 'only-these-hosts',
    summary: 'Requests go to the hosts that you list, and nowhere else',
    text: `// Put your hosts into the list. A URL that programs read differently has no host, and is denied.
deny "only-these-hosts" high
name "Requests go to known hosts"
when
  has(tool)
  && tool.name in ["WebFetch", "http_request"]
  && !host_in(arguments.url, ["example.com", "*.example.com"])
`,
    cases: [
      noTool,
      ...each('WebFetch', 'url', 'allow', 'https://example.com/x', 'https://API.Example.com.'),
      ...each(
        'WebFetch',
        'url',
        'deny',
        'https://example.com.evil.com',
        'https://example.com@evil.com',
        'http://169.254.169.254',
      ),
      ...each('WebFetch', 'url', 'deny', 'http://example.com\\@evil.com', 'file:///etc/passwd'),
      ...each('http_request', 'url', 'deny', 'https://evil.com'),
      ...each('search', 'url', 'allow', 'https://evil.com'),
    ],
  },
  {
    id: 'spending-limit',
    summary: 'Payments above 1,000 are denied',
    text: `// A payment without an amount, or with an amount that is no number, is denied too.
deny "spending-limit" high
name "No payment above 1,000"
when
  has(tool)
  && tool.name in ["pay", "refund", "transfer"]
  && arguments.amount > 1000
`,
    cases: [
      noTool,
      ...each('pay', 'amount', 'allow', 1000, 1),
      ...each('pay', 'amount', 'deny', 1001, '1'),
      ...each('refund', 'amount', 'deny', 1001),
      ...each('transfer', 'amount', 'deny', 1001),
      ...each('search', 'amount', 'allow', 1001),
    ],
  },
  {
    id: 'ask-before-payment',
    summary: 'A person decides on payments above 100',
    text: `escalate "ask-before-payment" medium
name "A person looks at payments above 100"
when
  has(tool)
  && tool.name in ["pay", "refund", "transfer"]
  && arguments.amount > 100
`,
    cases: [
      noTool,
      ...each('pay', 'amount', 'allow', 100, 1),
      ...each('pay', 'amount', 'escalate', 101, '1'),
      ...each('refund', 'amount', 'escalate', 101),
      ...each('transfer', 'amount', 'escalate', 101),
      ...each('search', 'amount', 'allow', 101),
    ],
  },
  {
    id: 'ask-before-deploy',
    summary: 'A person decides before anything is deployed',
    text: `escalate "ask-before-deploy" high
name "A person looks before a deployment"
when
  has(tool)
  && (tool.name in ["deploy", "publish", "release"]
      || tool.name in ["Bash", "shell"] && some(programs(arguments.command), @ in ${list(deploying)}))
`,
    cases: [
      noTool,
      ...each('deploy', 'to', 'escalate', 'production'),
      ...each('publish', 'to', 'escalate', 'npm'),
      ...each('release', 'to', 'escalate', 'v1'),
      ...each('Bash', 'command', 'escalate', ...deploying.map((name) => `ls; ${name} apply`)),
      ...each('shell', 'command', 'escalate', 'kubectl apply'),
      ...each('Bash', 'command', 'allow', 'ls', 'grep kubectl x'),
      ...each('search', 'command', 'allow', 'kubectl apply'),
    ],
  },
];
