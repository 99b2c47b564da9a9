/** Hand-made commands of the noun service, as data. */
import { command } from '../../program/command.ts';

const data = {
  type: 'string',
  value: 'DIR',
  required: true,
  description: 'Data directory of the service: its keys and service.json',
} as const;
const listen = { type: 'string', value: 'HOST:PORT' } as const;
const database = {
  type: 'string',
  value: 'URL',
  description: 'postgres://ROLE@HOST/DATABASE, without a password; that stands in GOV_DATABASE or PGPASSWORD',
} as const;
const metricsListen = { ...listen, description: 'Address of the metrics, or off' } as const;
const publicUrl = {
  type: 'string',
  value: 'URL',
  description: 'Address by which clients reach the service, such as https://gov.example.com',
} as const;
const broken = { 6: 'the service runs on SQLite: stop it first' } as const;

export const serviceInit = command({
  name: 'service init',
  summary: 'Make the data directory of a hosted service: keys and configuration',
  details: [
    'Offline, but for a look at the database where one is named. Every process of one service has the same directory, copied or mounted.',
  ],
  flags: {
    data: { ...data, description: 'Data directory to make' },
    name: {
      type: 'string',
      value: 'NAME',
      description: 'Begins the name of every log; default the host of --public-url, else gov.local',
    },
    database,
    listen: { ...listen, description: 'Address to serve at; default 127.0.0.1:7470' },
    metricsListen,
    publicUrl,
    issuer: { type: 'string', value: 'URL', description: 'OpenID provider by which people sign in' },
    clientId: { type: 'string', value: 'ID', description: 'Name of this service at --issuer' },
  },
  examples: [
    'gov service init --data ./gov-service',
    'gov service init --data /var/lib/gov/service --database postgres://gov_serving@db/gov --public-url https://gov.example.com',
  ],
});

export const serviceMigrate = command({
  name: 'service migrate',
  summary: 'Make the tables of a PostgreSQL database, or bring them to this release',
  details: [
    'Runs as the role that owns the tables, which no process that serves may be; grants the role that serves what it needs. Again without effect. SQLite is migrated when the service starts.',
  ],
  flags: {
    database: { ...database, description: `${database.description}; as the owner of the tables` },
    role: {
      type: 'string',
      value: 'ROLE',
      description: 'Role that processes serve as, made where it is absent; default gov_serving',
    },
  },
  exitCodes: { 4: 'the role may not do this', 6: 'a newer release made the tables' },
  examples: [
    'gov service migrate --database postgres://gov_owner@db/gov',
    'gov service migrate --database postgres://gov_owner@db/gov --role gov_api -o json',
  ],
});

export const serviceServe = command({
  name: 'service serve',
  summary: 'Serve the hosted service until it is told to stop',
  flags: {
    data,
    listen: { ...listen, description: 'Address to serve at instead of the configured one' },
    metricsListen,
    publicUrl,
    database,
    connections: { type: 'string', value: 'N', description: 'Most connections to the database; default 8' },
    logLevel: { type: 'string', value: 'LEVEL', description: 'Least level that is logged; default info' },
    tlsCert: {
      type: 'string',
      value: 'FILE',
      description: 'Serve over TLS with this certificate and its chain (PEM)',
    },
    tlsKey: {
      type: 'string',
      value: 'FILE',
      description: 'Its private key (PEM), a file that only its owner reads',
    },
    tlsClientCa: {
      type: 'string',
      value: 'FILE',
      description: 'Authorities (PEM) of which every client needs a certificate',
    },
    rebuildHeads: {
      type: 'boolean',
      description:
        'Make heads.db again from the database, which must be the newest copy, or all that is left after an investigation',
    },
    devIssuer: {
      type: 'boolean',
      description: 'Let anybody on this machine sign in as anybody: for development, on loopback alone',
    },
    devIssuerListen: {
      ...listen,
      description: 'Address of the development issuer; default 127.0.0.1:7472',
    },
  },
  exitCodes: {
    0: 'stopped by a signal',
    6: 'another process serves the directory, or the tables are of another release',
    74: 'stopped by a storage fault',
  },
  ownsSignals: true,
  examples: [
    'gov service serve --data ./gov-service --dev-issuer',
    'gov service serve --data /var/lib/gov/service --listen 0.0.0.0:7470',
  ],
});

export const serviceDoctor = command({
  name: 'service doctor',
  summary: 'Check whether the service could serve as it is configured, and say what to do',
  details: ['Looks, and changes nothing. Also while the service serves.'],
  flags: {
    data,
    listen: { ...listen, description: 'Address to check instead of the configured one' },
    database,
  },
  exitCodes: { 0: 'it could serve; what should be better is listed', 3: 'it could not' },
  examples: ['gov service doctor --data ./gov-service', 'gov service doctor --data ./gov-service -o json'],
});

export const serviceProjects = command({
  name: 'service projects',
  summary: 'List the projects of every organization, deleted ones too',
  flags: {
    data,
    organization: { type: 'string', value: 'ORG', description: 'Those of this organization alone' },
  },
  exitCodes: broken,
  examples: [
    'gov service projects --data ./gov-service',
    'gov service projects --data ./gov-service --organization org_01jq3v5k8hf7wb3c9x2m4n6p8r -o json',
  ],
});

export const serviceRestore = command({
  name: 'service restore',
  summary: 'Bring a deleted project back, with its keys',
  args: [{ name: 'project', description: 'Project id' }],
  flags: { data },
  exitCodes: { 2: 'another project has its name by now', 5: 'no such project', ...broken },
  examples: ['gov service restore prj_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service'],
});

export const serviceQuota = command({
  name: 'service quota',
  summary: 'Set monthly quotas of a project',
  details: [
    'TYPE is audit_event, compliance_proof, risk_decision or replay_verification. A number of units a month; none: unlimited; default: that of the environment. What is not named stays.',
  ],
  args: [{ name: 'project', description: 'Project id' }],
  flags: {
    data,
    set: {
      type: 'strings',
      separator: ',',
      value: 'TYPE=UNITS',
      required: true,
      description: 'Quota of a metered type: a number, none or default',
    },
  },
  exitCodes: { 5: 'no such project', ...broken },
  examples: [
    'gov service quota prj_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --set audit_event=1000',
    'gov service quota prj_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --set audit_event=none,risk_decision=default',
  ],
});

export const serviceCustomer = command({
  name: 'service customer',
  summary: 'Say who an organization is at the payment provider',
  args: [{ name: 'organization', description: 'Organization id' }],
  flags: {
    data,
    set: {
      type: 'string',
      value: 'cus_…',
      pattern: '^cus_[A-Za-z0-9]{1,251}$',
      description: 'Customer there',
    },
    clear: { type: 'boolean', description: 'It is no customer there' },
  },
  exitCodes: { 5: 'no such organization', ...broken },
  examples: [
    'gov service customer org_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --set cus_NffrFeUfNV2Hib',
    'gov service customer org_01jq3v5k8hf7wb3c9x2m4n6p8r --data ./gov-service --clear',
  ],
});
