/** Commands of the noun service, as data. Tested by `test/cli/commands/service/serve.test.ts`. */
import { command, flag } from '../../program/spec.ts';

const data = flag.text('DIR', 'Data directory of the service: its keys and service.json', { required: true });
const listen = { type: 'string', value: 'HOST:PORT' } as const;
const database = flag.text(
  'URL',
  'postgres://ROLE@HOST/DATABASE without a password; set the password in GOV_DATABASE or PGPASSWORD',
);
const metricsListen = { ...listen, description: 'Address of the metrics, or off' } as const;
const publicUrl = flag.text('URL', 'Public address of the service, such as https://gov.example.com');
const broken = { 6: 'the service runs on SQLite: stop it first' } as const;

export const serviceInit = command({
  name: 'service init',
  prints: 'created:boolean dataDir configFile name listen engine',
  summary: 'Make the data directory of a hosted service: keys and configuration',
  details: [
    'Works offline, except for a look at the database of --database. All processes of one service need the same directory, copied or mounted.',
  ],
  flags: {
    data: { ...data, description: 'Data directory to make' },
    name: flag.text('NAME', 'Prefix of every log’s name; default: the host of --public-url, else gov.local'),
    database,
    listen: { ...listen, description: 'Address to serve at; default: 127.0.0.1:7470' },
    metricsListen,
    publicUrl,
    issuer: flag.text('URL', 'OpenID provider for the sign-in of people'),
    clientId: flag.text('ID', 'Client id of this service at --issuer'),
  },
  examples: [
    'gov service init --data ./gov-service',
    'gov service init --data /var/lib/gov/service --database postgres://gov_serving@db/gov --public-url https://gov.example.com',
  ],
});

export const serviceMigrate = command({
  name: 'service migrate',
  prints: 'from:integer to:integer madeRole:boolean roleMayLogIn:boolean',
  summary: 'Create the tables of a PostgreSQL database, or update them to this release',
  details: [
    'Run it as the role that owns the tables; no serving process may use that role. It grants the serving role its rights. Repeating it changes nothing. For SQLite, the service migrates when it starts.',
  ],
  flags: {
    database: { ...database, description: `${database.description}; as the owner of the tables` },
    role: flag.text('ROLE', 'Role of serving processes, created if it is missing; default: gov_serving'),
  },
  exitCodes: { 4: 'the role may not do this', 6: 'a newer release made the tables' },
  examples: [
    'gov service migrate --database postgres://gov_owner@db/gov',
    'gov service migrate --database postgres://gov_owner@db/gov --role gov_api -o json',
  ],
});

export const serviceServe = command({
  name: 'service serve',
  prints: 'none',
  summary: 'Serve the hosted service until a signal stops it',
  flags: {
    data,
    listen: { ...listen, description: 'Address to serve at instead of the configured one' },
    metricsListen,
    publicUrl,
    database,
    connections: flag.text('N', 'Largest number of database connections; default: 8'),
    logLevel: flag.text('LEVEL', 'Lowest level to log; default: info'),
    tlsCert: flag.text('FILE', 'Serve over TLS with this certificate and its chain (PEM)'),
    tlsKey: flag.text('FILE', 'Its private key (PEM), a file that only its owner can read'),
    tlsClientCa: flag.text('FILE', 'Require a client certificate of these authorities (PEM)'),
    rebuildHeads: flag.on(
      'Rebuild heads.db from the database, which must be the newest copy, or the only one after an investigation',
    ),
    devIssuer: flag.on(
      'Let every user of this machine sign in as anybody: for development, on loopback only',
    ),
    devIssuerListen: {
      ...listen,
      description: 'Address of the development issuer; default: 127.0.0.1:7472',
    },
  },
  exitCodes: {
    0: 'a signal stopped it',
    6: 'another process serves the directory, or the tables belong to another release',
    74: 'a disk error stopped it',
  },
  ownsSignals: true,
  examples: [
    'gov service serve --data ./gov-service --dev-issuer',
    'gov service serve --data /var/lib/gov/service --listen 0.0.0.0:7470',
  ],
});

export const serviceDoctor = command({
  name: 'service doctor',
  prints: 'ok:boolean checks:array',
  summary: 'Check whether the service can serve as configured, and show what to do',
  details: ['Changes nothing. Works while the service serves.'],
  flags: {
    data,
    listen: { ...listen, description: 'Address to check instead of the configured one' },
    database,
  },
  exitCodes: { 0: 'it can serve; warnings are listed', 3: 'it cannot serve' },
  examples: ['gov service doctor --data ./gov-service', 'gov service doctor --data ./gov-service -o json'],
});

export const serviceProjects = command({
  name: 'service projects',
  prints:
    'projects[] projectId name environment deletedAt:string|null organizationId createdAt quotas:object',
  summary: 'List the projects of all organizations, including deleted ones',
  flags: {
    data,
    organization: flag.text('ORG', 'Only projects of this organization'),
  },
  exitCodes: broken,
  examples: [
    'gov service projects --data ./gov-service',
    'gov service projects --data ./gov-service --organization org_01jq3v5k8hf7wb3c9x2m4n6p8r -o json',
  ],
});

export const serviceRestore = command({
  name: 'service restore',
  prints:
    'changed:boolean projectId name environment organizationId createdAt deletedAt:string|null quotas:object',
  summary: 'Restore a deleted project with its keys',
  args: [{ name: 'project', description: 'Project id' }],
  flags: { data },
  exitCodes: { 2: 'another project has its name now', 5: 'no such project', ...broken },
  examples: ['gov service restore prj_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service'],
});

export const serviceQuota = command({
  name: 'service quota',
  prints:
    'changed:boolean projectId name environment organizationId createdAt deletedAt:string|null quotas:object',
  summary: 'Set monthly quotas of a project',
  details: [
    'TYPE is audit_event, compliance_proof, risk_decision or replay_verification. The value is units per month, none (unlimited) or default (that of the environment). Other types stay.',
  ],
  args: [{ name: 'project', description: 'Project id' }],
  flags: {
    data,
    set: flag.list('TYPE=UNITS', 'Quota of a metered type: a number, none or default', {
      separator: ',',
      required: true,
    }),
  },
  exitCodes: { 5: 'no such project', ...broken },
  examples: [
    'gov service quota prj_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --set audit_event=1000',
    'gov service quota prj_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --set audit_event=none,risk_decision=default',
  ],
});

export const serviceCustomer = command({
  name: 'service customer',
  prints: 'changed:boolean organizationId name customerId:string|null',
  summary: 'Set the payment provider’s customer of an organization',
  args: [{ name: 'organization', description: 'Organization id' }],
  flags: {
    data,
    set: flag.text('cus_…', 'Customer id at the payment provider', { pattern: '^cus_[A-Za-z0-9]{1,251}$' }),
    clear: flag.on('Remove the customer id'),
  },
  exitCodes: { 5: 'no such organization', ...broken },
  examples: [
    'gov service customer org_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --set cus_NffrFeUfNV2Hib',
    'gov service customer org_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --clear',
  ],
});
