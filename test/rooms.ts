/**
 * The rooms of each floor, lowest first.
 *
 * `may`: the sibling rooms that a room imports, by type too. They stand before the room in its list, so that no ring of
 * rooms can form. Absent: every room before it.
 *
 * `doors`: the files that other rooms and other floors import, without `.ts`. The other files of a room are its own: they
 * change without a look elsewhere. A door is a file and no list of names, because a test can check it without a
 * compiler. It is no index file either, because that loads the whole room at each start of the command line. Absent:
 * every file is a door.
 *
 * Names are separated by spaces. A new edge or door is a decision: add it in a commit of its own, with the reason.
 */
export interface Room {
  readonly may?: string;
  readonly doors?: string;
}

/** Floor → room → its law. A file at the root of a floor counts as a room of its own, and is open to all. */
export const rooms: Readonly<Record<string, Readonly<Record<string, Room>>>> = {
  'src/core/': {
    json: {
      may: '',
      doors:
        'base64 canonical digest items large-list members object parse pointer shape sliced text-lines ' +
        'token',
    },
    merkle: {
      may: '',
      doors: 'list-root multi-proof shared-path tile tile-path tile-proof tile-source tree',
    },
    schedules: { may: '', doors: 'cron window' },
    webhooks: { may: '' },
    note: {
      may: 'json merkle',
      doors:
        'checkpoint dsse heads hpke key key-history signature signed signed-by tlog-proof tree-head trust ' +
        'witness',
    },
    events: { may: 'json merkle' },
    completeness: { may: 'json merkle events' },
    graphs: { may: 'json merkle events', doors: 'builder declaration derivation lineage rows union' },
    // What a call does, alike for all clients. Conditions read texts with the same parser.
    action: {
      may: 'json',
      doors:
        'canonical client-tools git-remotes host large-content money places recorded shape shell-programs',
    },
    policies: {
      may: 'json merkle action',
      doors:
        'evaluate/clause evaluate/compile evaluate/decision evaluate/time-slice ' +
        'explain/decisive-clauses explain/detail explain/reasoning impact/changes impact/history ' +
        'language/ast language/canonical language/diff-lines language/hash language/lexer ' +
        'language/parse language/read-set language/text lint/check lint/coverage lint/finding ' +
        'set/in-force set/lifecycle set/member tool-text/fold',
    },
    decided: { may: 'json merkle events policies' },
    risk: { may: 'json graphs', doors: 'config inputs router' },
    replay: {
      may: 'json merkle action graphs policies decided risk',
      doors: 'again align collector drift fields graph run-compare steps withdrawn',
    },
    // Counts what a recording holds by its shape alone; intake compares, and a layer states it.
    balance: { may: 'json', doors: 'kinds scan statement' },
    // Compares what the sources of a run say of its calls; a layer states it, and intake asks whose report an event is.
    coverage: { may: 'json events action', doors: 'call-hash join judge report sightings state' },
    // Signatures of people over decisions, which a layer judges.
    approvals: { may: 'json events decided' },
    proofs: {
      may: 'json merkle note events completeness graphs decided risk balance coverage approvals',
      doors:
        'answer answers artifact binding bundle completeness compliance coverage decision-lineage ' +
        'determinism disclosed integrity layers read-bundle recordings rests statement strength verdict ' +
        'verify',
    },
    receipt: { may: 'merkle note', doors: 'cose' },
    evidence: {
      may: 'json merkle note completeness proofs receipt',
      doors: 'entries-file file heads-file history index-omission media-type',
    },
    exports: {
      may: 'json merkle note events completeness graphs decided replay proofs',
      doors: 'answer artifact check-rows checks completeness filters row row-lists verify',
    },
    planes: {
      may: 'json merkle note policies risk',
      doors:
        'attestation config enrolment-request former-keys identity metering run-file signature ' +
        'usage-order usage-report version',
    },
    // Units follow from leaves of the metering log.
    reports: {
      may: 'json merkle note proofs planes',
      doors:
        'artifacts format inputs model pdf/render presentation signature template-hash units verify ' +
        'verify-pages',
    },
    forwards: { may: 'json events decided', doors: 'chain encode filter manifest notice ocsf record syslog' },
    // The index has terms of events and of evaluations.
    search: { may: 'events decided' },
    intake: {
      may: 'json balance coverage',
      doors:
        'balance-file call-ids ending facts fit format formats/otlp names otlp/answer otlp/capture otlp/protobuf ' +
        'otlp/day-balance otlp/history otlp/joins otlp/sources parts/balance parts/reader parts/state receive reconcile registry repeat run source subagents',
    },
    mcp: { may: 'json' },
    agents: { may: 'json action coverage intake' },
  },
  // The port knows no engine, and the engines do not know each other: what they share lies in the other folders.
  'src/store/': {
    port: {
      may: '',
      doors:
        'bounds caller documents event-terms exports index-map metering planes project request ' +
        'request-bytes rows store tenancy',
    },
    schema: { may: '' },
    erasure: { may: 'port' },
    rules: { may: 'port' },
    append: {
      may: 'port erasure rules',
      doors:
        'altered approvals blocks buckets clock-skew counted-sql documents effects leaf ledger notices ' +
        'pending period random repeats run-row sequencer spell tile-parts time-counts trees usage-row',
    },
    read: { may: 'port rules append' },
    write: { may: 'port erasure rules append read' },
    file: {
      may: 'port schema erasure append',
      doors:
        'body-seal connection copies cut faults filesystem growth heads hosted inspect keys-left lock ' +
        'master-key migrate paths position pruned reader schema/tables signed-heads statement subjects ' +
        'subjects-copy tail tiles',
    },
    // What a process acknowledged, outside the database.
    acked: { may: 'rules file', doors: 'compare heads losses' },
    fsck: {
      may: 'port erasure rules append file',
      doors: 'check run tables tenants/organization-life tenants/rows',
    },
    sqlite: { may: 'port erasure rules append read write file acked', doors: 'store' },
    postgres: { may: 'port schema erasure rules append read write file acked fsck', doors: 'store' },
  },
  'src/service/': {
    // A call and its answer, whatever it is about.
    call: { may: '' },
    // Reads a log and signs it; says which stored row contradicts it.
    log: { may: 'call' },
    // The policies that decide now, kept in memory, and those that decided at an index of the log.
    'in-force': { may: 'call log' },
    // The parts that the process around the service provides.
    hosting: { may: 'call log in-force' },
    // Who calls: keys, people and planes, by what they present.
    credentials: {
      may: 'call hosting',
      doors: 'callers key-sessions plane-keys run-keys shown token-format',
    },
    // Extends the indexes of a log while it grows.
    indexes: { may: 'call log', doors: 'lists search' },
    // What every handler gets, and what a handler is. The rooms before it are parts of that; those after it have handlers.
    port: { may: 'call log in-force hosting credentials indexes' },
    outbox: { may: 'hosting' },
    // Appends to a log, also the events of the service itself.
    writes: { may: 'call log port' },
    // Checks what an erasure took from a leaf.
    erased: { may: '' },
    // Changes of keys and policies ask whether a person has to sign.
    approvers: { may: 'call port writes', doors: 'document handlers logged names presence' },
    access: {
      may: 'call hosting credentials port writes approvers',
      doors:
        'api-keys auth bounds project-events projects refusals report-uses sessions tenant-change ' +
        'tenant-events',
    },
    billing: { may: 'call port writes access', doors: 'metering month-usage portal quota' },
    events: {
      may: 'call log port writes erased billing',
      doors:
        'arrivals facts handlers judge read-so-far receive redaction run-judge run-stream silence sources',
    },
    search: { may: 'call port erased events', doors: 'block-task handlers page' },
    coverage: { may: 'call in-force port events' },
    completeness: { may: 'call log port events', doors: 'handlers mismatch missing-run task' },
    approvals: { may: 'call log port writes events approvers', doors: 'call decision handlers' },
    policies: {
      may: 'call log in-force port writes billing events search approvers approvals',
      doors:
        'evaluate evaluation-list handlers history risk risk-router run-snapshot simulate snapshots tools',
    },
    graphs: { may: 'call log port writes events policies' },
    jobs: { may: 'call log port writes' },
    proofs: {
      may: 'call log in-force port writes erased billing events coverage completeness approvers graphs jobs',
      doors: 'bundle-stream bundle-task decided-leaves handlers layers prove',
    },
    replay: {
      may: 'call in-force port writes billing events completeness policies jobs proofs',
      doors: 'handlers job task',
    },
    exports: {
      may: 'call log hosting port writes erased events completeness graphs jobs',
      doors: 'handlers job ranged sweep task',
    },
    reports: {
      may: 'call log hosting credentials port outbox writes events coverage completeness jobs proofs exports',
      doors:
        'branding/handlers branding/logo-task checks/names cron custom/handlers ' +
        'deliveries/file-name deliveries/handlers handlers removal scheduler schedules/handlers shares ' +
        'task templates/list templates/source withdraw worker',
    },
    erasure: { may: 'call port writes exports reports', doors: 'erase handlers retention' },
    planes: {
      may: 'call credentials port writes access billing',
      doors: 'config expired-challenges handlers',
    },
    console: { may: 'hosting credentials port writes access' },
    webhooks: { may: 'call hosting port outbox writes access', doors: 'endpoint handlers history work' },
    operations: {
      may: 'call log hosting port writes events',
      doors: 'handlers health log reasons scrub-state scrubber sweep',
    },
    forwards: { may: 'hosting port' },
  },
  'src/http/': {
    answer: { may: '' },
    // What a request must pass before its body is read, whatever it asks for.
    admit: {
      may: 'answer',
      doors: 'address cron gate negotiate origins overload presented rates request-id signed sockets',
    },
    // The call of one operation, from its route to its handler.
    call: { may: 'answer admit', doors: 'admit mount route text' },
    otlp: { may: 'answer admit call' },
    stream: { may: 'answer admit call' },
  },
  // A room may import all before it: commands share by subject, and new ones come often.
  'src/cli/': {
    // The language of commands and their failures, and what a terminal shows.
    program: {},
    terminal: {
      doors:
        'answer-view ascii ask browser checks clipped graph history input io keys numbers out output-file ' +
        'report safe spool table tree verdict view width yaml',
    },
    // Where a command runs: settings, contexts, credentials.
    keychain: { doors: 'probe secrets' },
    context: {
      doors:
        'certificate command config config-write credentials definition explain folder guard place ' +
        'plane-directory run-file secret-file session settings stored target trust web',
    },
    // The commands as data.
    ci: { doors: 'checks flags proof report' },
    policies: {},
    specs: {},
    grammar: {},
    // What commands share, by subject.
    api: {},
    progress: { doors: 'show waiting' },
    trust: {},
    keys: {},
    approvals: {},
    download: { doors: 'begun created deliver file' },
    runs: {},
    search: {},
    // The watch makes passes of a push over files that it finds, and says what became of them as a push does.
    push: { doors: 'client-sink file-report folder import-time pass run source target work' },
    watch: { doors: 'report run' },
    receipts: { doors: 'checked' },
    update: {},
    completion: { doors: 'complete scripts' },
    reports: {},
    replay: {},
    enrolment: {},
    quickstart: { doors: 'agent plane show source' },
    start: {},
    mcp: {
      doors:
        'gate http money-maps pin-policy pins server-name stdio tools wrap/edits wrap/json-config wrap/toml-config',
    },
    agents: {
      doors:
        'connection-file doctor drill/bypass-judge drill/bypasses/all drill/judge drill/policy drill/results drill/start drill/timer facts hook hook-entry ' +
        'install key mcp/proxied move-plane pin program session-workspace setup/all setup/codex setup/edit show-changes sudo target',
    },
    // What runs below a client, for gov run.
    sandbox: {},
    schedules: {},
    operations: {},
    screens: {
      doors: 'approvals/state effects events/follow keys runs/load runs/state start store top/watch',
    },
    auth: { doors: 'id-token identity sign-in target' },
    webhooks: {},
    doctor: { doors: 'bundle diagnose finding' },
    commands: { doors: 'commands/run generated loaders' },
  },
  'src/console/': {
    // The address, the connection and the session; then what pages are made of.
    browser: {},
    parts: {
      doors:
        'action button confirm counted dialogs download empty error-box field filters loading not-loaded ' +
        'page-head paged read-all remote-text rows-shown section size status table tabs time',
    },
    // Pages by subject.
    approvals: { doors: 'approvers call list load page principal' },
    verify: {},
    runs: { doors: 'entry-details list page timeline' },
    planes: {},
    webhooks: { doors: 'page' },
    policies: { doors: 'list page' },
    projects: {},
    reports: { doors: 'deliveries list page schedules' },
    exports: {},
    keys: {},
    events: {},
    home: { doors: 'page' },
    // The list of pages, and the frame around them.
    app: { doors: 'root' },
  },
  'src/host/': {
    // Private files of a data directory, and the small facts that processes leave there for each other.
    files: { may: '' },
    // How a file of settings is read: the layers of a value, secrets, changes of a file.
    config: { may: 'files' },
    keys: { may: 'files config' },
    pictures: { may: '' },
    reports: { may: 'config' },
    exports: { may: 'config' },
    outbound: { may: 'config', doors: 'allowed config open senders smtp' },
    identity: { may: 'config', doors: 'config dev-issuer id-token issuer-keys portal' },
    forwards: { may: 'files config', doors: 'archive bucket config gather open secure transport verify' },
    // Puts a serving process together and runs it, whatever it serves.
    process: {
      may: 'files config keys pictures reports exports outbound',
      doors:
        'assemble checks clock lifecycle log metrics once open-files postgres-engine run scheduling ' +
        'sqlite-engine thread-work tls together',
    },
    witness: { may: 'files config keys process', doors: 'config lacked-head server' },
    // What plane.json and service.json say alike of a serving process.
    serving: { may: 'config reports exports outbound forwards process witness' },
    service: {
      may: 'files config keys reports outbound identity forwards process witness serving',
      doors: 'config doctor init migrate operator serve',
    },
    // Commands on a data directory, whether it is that of a plane or of a service.
    data: {
      may: 'files config keys outbound forwards process serving service',
      doors: 'build-index compact config forwards fsck losses prune',
    },
  },
  'plane/': {
    keys: { may: '', doors: 'own rotate rotate-serving' },
    // What a plane knows of its service, and the way to reach it.
    service: { may: '' },
    telemetry: {
      may: 'service',
      doors: 'by-file maker outbox report reported schedule send-now sender status',
    },
    enrolment: { may: 'service telemetry' },
    config: { may: 'keys service', doors: 'apply content direct set sync verify' },
    data: {
      may: 'keys telemetry config',
      doors: 'backup build-index files init prune recover recover-approver restore',
    },
    serve: { may: 'keys service telemetry config data', doors: 'doctor overview served start stop' },
  },
};
