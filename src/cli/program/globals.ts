/**
 * Flags and environment variables that every command knows, as data: the parser, `--help`,
 * `gov help environment` and the manifest all read this list.
 */
import { environments } from '../../contract/auth-words.ts';
import type { FlagSpec } from './command.ts';

export const formats = ['table', 'wide', 'json', 'ndjson', 'yaml', 'csv', 'id'] as const;
export type Format = (typeof formats)[number];

/** A project's id (contract A1). */
export const projectPattern = '^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$';

export const globalFlags = {
  context: {
    type: 'string',
    short: 'C',
    value: 'NAME',
    description: 'Use this context instead of the current one',
  },
  project: {
    type: 'string',
    value: 'ID',
    pattern: projectPattern,
    description: 'Project that a signed-in person acts on; an API key has its own',
  },
  env: {
    type: 'string',
    value: 'ENV',
    choices: environments,
    description: 'Environment of the service',
  },
  baseUrl: { type: 'string', value: 'URL', description: 'Use the service at this address' },
  output: {
    type: 'string',
    short: 'o',
    value: 'FORMAT',
    description: `Output format: ${formats.join(', ')}`,
  },
  quiet: { type: 'boolean', short: 'q', description: 'Print nothing but data and errors' },
  verbose: { type: 'boolean', short: 'v', description: 'Say more on stderr, such as retries' },
  debug: {
    type: 'string',
    value: 'http',
    description: 'Trace on stderr; =http with requests, never with secrets',
  },
  color: { type: 'string', value: 'WHEN', description: 'Colour: auto, always, never' },
  noInput: { type: 'boolean', description: 'Never prompt; fail and name the flag instead' },
  yes: { type: 'boolean', short: 'y', description: 'Answer yes to questions' },
  timeout: {
    type: 'duration',
    value: 'TIME',
    description: 'Deadline, such as 30s: of a request or of --wait',
  },
  retries: {
    type: 'integer',
    minimum: 0,
    maximum: 20,
    value: 'N',
    description: 'Further attempts after a passing failure',
  },
  idempotencyKey: {
    type: 'string',
    value: 'KEY',
    maxLength: 255,
    pattern: '^[\\u0021-\\u007e]+$',
    description: 'Key under which a repeated write counts once',
  },
  cacert: { type: 'string', value: 'FILE', description: 'Trust the authorities in this PEM file as well' },
} as const satisfies Readonly<Record<string, FlagSpec>>;

/** Variables beside the flags they stand for. */
export const environment: readonly (readonly [name: string, description: string])[] = [
  ['GOV_API_KEY', 'Credential; before GOV_API_KEY_FILE, systemd’s gov-api-key credential and the context'],
  ['GOV_API_KEY_FILE', 'File that holds the API key; must not be readable by everybody'],
  ['GOV_BASE_URL', 'As --base-url'],
  ['GOV_CONTEXT', 'As --context'],
  ['GOV_PROJECT', 'As --project'],
  ['GOV_ENV', 'As --env'],
  ['GOV_OUTPUT', 'As --output'],
  [
    'GOV_CONFIG_DIR',
    'Directory of config.json and credentials.json; default $XDG_CONFIG_HOME/gov or ~/.config/gov',
  ],
  ['GOV_CACERT', 'As --cacert; SSL_CERT_FILE is read as well'],
  ['GOV_CLIENT_CERT', 'Own certificate (PEM file), where a listener asks for one; with GOV_CLIENT_KEY'],
  ['GOV_CLIENT_KEY', 'Its private key (PEM file); must not be readable by everybody'],
  ['GOV_TIMEOUT', 'As --timeout'],
  ['GOV_RETRIES', 'As --retries'],
  ['GOV_DEBUG', 'As --debug: 1 or http'],
  ['GOV_NO_INPUT', 'As --no-input'],
  ['GOV_FORCE_TTY', 'Format for a terminal of that many columns, also into a pipe'],
  ['NO_COLOR', 'No colour; wins over FORCE_COLOR, CLICOLOR_FORCE and CLICOLOR'],
  ['CI', 'Never prompt'],
  [
    'HTTPS_PROXY, HTTP_PROXY, NO_PROXY',
    'Proxies, in capitals or not; NO_PROXY takes names, addresses and CIDR ranges',
  ],
  ['GOV_ID_TOKEN_FILE', 'File with the ID token for gov auth login --ci'],
  ['GOV_ID_TOKEN', 'The token itself; after GOV_ID_TOKEN_FILE'],
  ['CREDENTIALS_DIRECTORY', 'systemd’s credentials: gov-api-key is read'],
];
