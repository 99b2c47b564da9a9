/**
 * Flags and environment variables of every command, as data. The parser, `--help`, `gov help environment` and the
 * manifest read this list. Tested by `test/cli/program/manifest.test.ts`.
 */
import { environments } from '../../contract/auth-words.ts';
import { flag, type FlagSpec } from './spec.ts';

export const formats = ['table', 'wide', 'json', 'ndjson', 'yaml', 'csv', 'id'] as const;

/** The form of a project's id: a ULID in lower case after `prj_`. */
export const projectPattern = '^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$';

export const globalFlags = {
  context: flag.text('NAME', 'Use this context instead of the current one', { short: 'C' }),
  project: flag.text('ID', 'Project of a signed-in person; an API key has its own', {
    pattern: projectPattern,
  }),
  env: flag.text('ENV', 'Environment of the service', { choices: environments }),
  baseUrl: flag.text('URL', 'Use the service at this address'),
  output: flag.text('FORMAT', `Output format: ${formats.join(', ')}`, { short: 'o' }),
  json: flag.text(
    'FIELDS',
    'Output as JSON; =FIELDS, such as =runId,events, keeps only these members of each result',
    { optionalValue: true },
  ),
  jq: flag.text('EXPRESSION', 'Output as JSON, filtered by jq; text results come without quotes'),
  quiet: flag.on('Print only data and errors', { short: 'q' }),
  verbose: flag.on('Print more on stderr, such as retries', { short: 'v' }),
  debug: flag.text('http', 'Trace on stderr; =http traces requests, without secrets', {
    optionalValue: true,
  }),
  color: flag.text('WHEN', 'Colour: auto, always, never'),
  noInput: flag.on('Never prompt; fail and name the missing flag'),
  yes: flag.on('Answer yes to every question', { short: 'y' }),
  timeout: flag.duration('TIME', 'Time limit of a request or of --wait, such as 30s'),
  retries: flag.integer('N', 'Retries after a temporary failure', { minimum: 0, maximum: 20 }),
  idempotencyKey: flag.text('KEY', 'Key that makes a repeated write count once', {
    maxLength: 255,
    pattern: '^[\\u0021-\\u007e]+$',
  }),
  cacert: flag.text('FILE', 'Also trust the authorities in this PEM file'),
} as const satisfies Readonly<Record<string, FlagSpec>>;

/** Environment variables and their descriptions. */
export const environment: readonly (readonly [name: string, description: string])[] = [
  ['GOV_API_KEY', 'Credential; wins over GOV_API_KEY_FILE, systemd’s gov-api-key credential and the context'],
  ['GOV_API_KEY_FILE', 'File with the API key; other users must not be able to read it'],
  ['GOV_BASE_URL', 'Same as --base-url'],
  ['GOV_CONTEXT', 'Same as --context'],
  ['GOV_PROJECT', 'Same as --project'],
  ['GOV_ENV', 'Same as --env'],
  ['GOV_OUTPUT', 'Same as --output'],
  [
    'GOV_CONFIG_DIR',
    'Directory of config.json and credentials.json; default: $XDG_CONFIG_HOME/gov or ~/.config/gov',
  ],
  ['GOV_KEYCHAIN', '0: store credentials in credentials.json, not in the keychain of the system'],
  ['GOV_SYSTEM_CONFIG', 'File with settings for all users; default: /etc/gov/config.json'],
  ['GOV_CACERT', 'Same as --cacert; SSL_CERT_FILE works too'],
  ['GOV_CLIENT_CERT', 'Client certificate (PEM file) for mutual TLS; needs GOV_CLIENT_KEY'],
  ['GOV_CLIENT_KEY', 'Its private key (PEM file); other users must not be able to read it'],
  ['GOV_TIMEOUT', 'Same as --timeout'],
  ['GOV_RETRIES', 'Same as --retries'],
  ['GOV_DEBUG', 'Same as --debug: 1 or http'],
  ['GOV_NO_INPUT', 'Same as --no-input'],
  ['GOV_FORCE_TTY', 'Format for a terminal with this many columns, also into a pipe'],
  ['NO_COLOR', 'No colour; wins over FORCE_COLOR, CLICOLOR_FORCE and CLICOLOR'],
  ['CI', 'Never prompt'],
  [
    'HTTPS_PROXY, HTTP_PROXY, NO_PROXY',
    'Proxies, in upper or lower case; NO_PROXY takes names, addresses and CIDR ranges',
  ],
  ['GOV_ID_TOKEN_FILE', 'File with the ID token for gov auth login --ci'],
  ['GOV_ID_TOKEN', 'The ID token itself; GOV_ID_TOKEN_FILE wins'],
  ['GOV_CRON_SECRET', 'Secret of the scheduler, for gov cron run; wins over GOV_CRON_SECRET_FILE'],
  ['GOV_CRON_SECRET_FILE', 'File with that secret; other users must not be able to read it'],
  ['GITHUB_STEP_SUMMARY', 'File for the summary of --annotate; GitHub Actions sets it'],
  ['CREDENTIALS_DIRECTORY', 'systemd’s credentials; gov reads gov-api-key'],
];
