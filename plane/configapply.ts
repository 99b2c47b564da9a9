/**
 * Puts a signed configuration in force at a plane, whole or not at all: it is opened (`core/configbundle.ts`), compared
 * with the one in force (a greater version of the same project), planned (`configplan.ts`), and everything of it is one
 * append: `gov.policy/1` and `gov.config/1` leaves, rows, and the event that tells of it. A crash leaves the old
 * configuration or the new one. What is refused changes nothing, and is an event once.
 * Proven by `test/plane/configapply.test.ts` (crash points, each member altered).
 */
import type { BundleApplied, BundleSource, HeldBundle, PolicyMode } from '../src/contract/bundle.ts';
import { SignedBundle } from '../src/contract/bundle.ts';
import { limits } from '../src/contract/limits.ts';
import { GovError } from '../src/contract/problems.ts';
import {
  BundleRefused,
  hashOfText,
  openingBundle,
  type BundleTrust,
  type OpenBundle,
} from '../src/core/configbundle.ts';
import { systemRun } from '../src/core/record.ts';
import { append, appendOrStale, unmetered } from '../src/service/append.ts';
import type { ApplyOptions, PlaneConfig } from '../src/service/bundle.ts';
import type { Caller } from '../src/service/call.ts';
import type { Change } from '../src/service/policychange.ts';
import { routerOf } from '../src/service/riskrouter.ts';
import { loadCheck } from '../src/service/schema.ts';
import type { Services } from '../src/service/services.ts';
import type { StoredSettings } from '../src/service/settings.ts';
import { inTurns } from '../src/service/turns.ts';
import type { StoredPolicy } from '../src/store/port.ts';
import type { PlaneConfig as PlaneConfigFile } from '../src/host/config.ts';
import { ConfigCopy } from './configcopy.ts';
import { bundleAuthor, planOf, type Plan } from './configplan.ts';
import { trustOf } from './configtrust.ts';
import {
  appliedBundle,
  configApplied,
  configRefused,
  shownRefusal,
  type AppliedBundle,
  type By,
  type RefusedBundle,
} from './configstate.ts';

export interface ConfigOptions {
  readonly dataDir: string;
  /** The plane's own project. */
  readonly projectId: string;
  readonly mode: PolicyMode;
  /** Whose configuration is taken; null where the plane was told of no service yet. */
  readonly trust: () => BundleTrust | null;
  readonly services: () => Services;
}

/** For whom a configuration is taken, and whether one that is not after the one in force is taken too. */
interface Taking {
  readonly by: By;
  readonly older: boolean;
}

/** The plane itself, which asks its service. */
export const theService: Taking = { by: { id: bundleAuthor, type: 'service' }, older: false };

const attempts = 5;

export class HeldConfig implements PlaneConfig {
  readonly #options: ConfigOptions;
  readonly copy: ConfigCopy;
  #applied: AppliedBundle | null = null;
  #refused: RefusedBundle | null = null;
  #copyIsWhole = true;

  constructor(options: ConfigOptions) {
    this.#options = options;
    this.copy = new ConfigCopy(options.dataDir);
  }

  /** Reads what is in force; before anything is served. */
  async open(): Promise<void> {
    const { services, projectId } = this.#options;
    this.#applied = await appliedBundle(services().store, projectId);
    this.copy.recover(this.#applied?.bundleHash ?? null);
  }

  /** Looks whether the copy of what is in force is still that. */
  checkCopy(): void {
    const applied = this.#applied;
    this.#copyIsWhole = applied === null || this.copy.holds(applied.bundleHash);
  }

  get copyIsWhole(): boolean {
    return this.#copyIsWhole;
  }

  /** After `plane.json` chose another mode: what is in force is put so as that mode has it. */
  async settleMode(): Promise<void> {
    const applied = this.#applied;
    if (applied === null || this.mode === 'off' || applied.mode === this.mode) return;
    const text = this.copy.read(applied.bundleHash);
    if (text !== null) await this.take(text, applied.from, theService);
  }

  get mode(): PolicyMode {
    return this.#options.mode;
  }

  get applied(): AppliedBundle | null {
    return this.#applied;
  }

  /** What the service gave last, where it was refused; null where it was taken. */
  get refused(): RefusedBundle | null {
    return this.#refused;
  }

  /** The service gave what is in force already. */
  agreed(): void {
    this.#refused = null;
  }

  async held(): Promise<HeldBundle> {
    const { mode } = this.#options;
    const applied = this.#applied;
    if (applied === null) {
      const detail =
        'this plane holds no configuration of a service; enrol it, or apply one that came by file';
      throw new GovError('NOT_FOUND', detail);
    }
    const { bundleVersion, bundleHash, appliedAt, from } = applied;
    const refused = this.#refused === null ? null : shownRefusal(this.#refused);
    const signed = this.copy.signed(bundleHash);
    return {
      bundleVersion,
      bundleHash,
      signed,
      verifierKey: null,
      plane: { mode, appliedAt, from, refused },
    };
  }

  apply(
    text: Uint8Array,
    { id, type }: Pick<Caller, 'id' | 'type'> | By,
    { older = false }: ApplyOptions = {},
  ): Promise<BundleApplied> {
    return this.take(text, 'file', { by: { id, type }, older });
  }

  /** BundleRefused, and then nothing changed. OVERLOADED where policies keep changing meanwhile. */
  async take(text: Uint8Array, from: BundleSource, { by, older }: Taking): Promise<BundleApplied> {
    const { services, projectId } = this.#options;
    try {
      const open = await this.#open(text);
      // as each change of a policy is
      const result = await services().runs.inTurn({ projectId, runId: systemRun }, () =>
        this.#putInForce(open, text, { from, by, older }),
      );
      if (from === 'service') this.#refused = null;
      return result;
    } catch (error) {
      if (error instanceof BundleRefused) await this.#refuse(error, text, { from, by });
      throw error;
    }
  }

  async #open(text: Uint8Array): Promise<OpenBundle> {
    if (this.mode === 'off') {
      const detail = 'expected a plane that takes configurations, but plane.json says config.policies: off';
      throw new BundleRefused('switched_off', detail);
    }
    const trust = this.#options.trust();
    if (trust === null) {
      const detail =
        'expected a plane that was told which service to trust; enrol it, or put projectId and keys ' +
        'of the service into config of plane.json';
      throw new BundleRefused('untrusted', detail);
    }
    const check = await loadCheck(SignedBundle, { in: 'body' });
    const opening = openingBundle(text, trust, (value) => {
      const [first] = check(value)?.errors ?? [];
      return first === undefined ? null : `at ${first.pointer}: ${first.detail}`;
    });
    return inTurns(opening);
  }

  /** Whether it is the very one in force. An older one may be a replay of what an attacker kept. */
  #requireNewer({ bundle, hash }: OpenBundle): boolean {
    const applied = this.#applied;
    if (applied === null || applied.projectId !== bundle.projectId) return false;
    if (applied.bundleHash === hash) return true;
    if (bundle.bundleVersion > applied.bundleVersion) return false;
    const { bundleVersion } = bundle;
    if (bundleVersion === applied.bundleVersion) {
      const detail = `expected version ${bundleVersion} to be ${applied.bundleHash}, as it was taken, got ${hash}`;
      throw new BundleRefused('rewritten', detail);
    }
    const detail = `expected a version after ${applied.bundleVersion}, which is in force, got ${bundleVersion}`;
    throw new BundleRefused('outdated', detail);
  }

  async #putInForce(
    open: OpenBundle,
    text: Uint8Array,
    { from, by, older }: Taking & { from: BundleSource },
  ): Promise<BundleApplied> {
    const { projectId, mode, services: get } = this.#options;
    const services = get();
    const { bundleVersion } = open.bundle;
    const isHeld = older ? this.#applied?.bundleHash === open.hash : this.#requireNewer(open);
    for (let attempt = 0; attempt < attempts; attempt++) {
      const atMs = services.now();
      const { configHash, configIndex } = await routerOf(services.store, projectId);
      const planned: { plan?: Plan } = {};
      const stored = await services.policySets.changeMany(projectId, async (before) => {
        const { store, salt } = services;
        const stands = { store, projectId, set: before.set, configHash, atMs, salt };
        const plan = await planOf({ ...stands, bundle: open.bundle, mode });
        planned.plan = plan;
        if (isHeld && this.#applied?.mode === mode && plan.leaves.length === 0) return nothing;
        this.copy.prepare(text);
        const told = { ...plan, from, mode, previous: this.#applied };
        return appendOrStale(services, {
          projectId,
          leaves: [...plan.leaves, configApplied(open, { nowMs: atMs, salt, by }, told)],
          meter: unmetered,
          inForce: { policyIndex: before.policyIndex, configIndex },
          effects: plan.effects,
        });
      });
      const { plan } = planned;
      if (plan === undefined || 'replayed' in stored)
        throw new Error('a configuration was appended without its plan');
      if (stored.outcome !== 'stored') continue;
      const applied = stored !== nothing;
      if (applied) await this.#settle();
      else if (!this.copy.holds(open.hash)) this.#renew(text);
      return { bundleVersion, bundleHash: open.hash, applied, ...countsOf(plan), findings: open.findings };
    }
    this.copy.drop();
    throw new GovError('OVERLOADED', 'the policies kept changing meanwhile; repeat later', {
      retryAfterSeconds: limits.overloadRetrySeconds,
    });
  }

  async #settle(): Promise<void> {
    const { services, projectId } = this.#options;
    this.copy.settle();
    this.#copyIsWhole = true;
    this.#applied = await appliedBundle(services().store, projectId);
    // what is redacted may be another thing from now on
    services().forgetCredential(projectId);
  }

  /** The copy was lost. */
  #renew(text: Uint8Array): void {
    this.copy.prepare(text);
    this.copy.settle();
    this.#copyIsWhole = true;
  }

  async #refuse(
    { reason, message }: BundleRefused,
    text: Uint8Array,
    { from, by }: { from: BundleSource; by: By },
  ): Promise<void> {
    const { services: get, projectId } = this.#options;
    const services = get();
    const nowMs = services.now();
    const bundleHash = hashOfText(text);
    const known = this.#refused?.bundleHash === bundleHash ? this.#refused.sinceMs : nowMs;
    this.copy.drop();
    if (from === 'service') this.#refused = { reason, detail: message, bundleHash, sinceMs: known };
    const telling = { nowMs, salt: services.salt, by };
    services.log.warn({ reason, bundleHash, detail: message }, 'a configuration was refused');
    await append(services, {
      projectId,
      leaves: [configRefused({ reason, bundleHash }, telling, this.#applied)],
      meter: unmetered,
      // the same bundle is the same event, whatever it is refused for the next time
      fingerprints: new Map([[0, services.fingerprint(`gov.config.refused/1\n${bundleHash}`)]]),
    });
  }

  refusePolicyChange(policy: StoredPolicy, { to }: Pick<Change, 'to'>): void {
    const { mode } = this.#options;
    if (mode === 'off' || this.#applied === null) return;
    if (policy.createdBy === bundleAuthor) {
      const detail =
        `expected a policy of this plane's own, but ${policy.policyId} came with the configuration of ` +
        `${this.#applied.projectId}; change it at the service`;
      throw new GovError('FORBIDDEN', detail);
    }
    if (mode !== 'service' || to !== 'active') return;
    const detail =
      'expected a change at the service: plane.json says config.policies: service, so only its policies count here';
    throw new GovError('FORBIDDEN', detail);
  }

  refuseRiskConfig(): void {
    if (this.mode === 'off' || this.#applied === null || this.#applied.riskConfigHash === null) return;
    const detail =
      'expected a change at the service: the risk router of this plane is configured by the configuration of ' +
      this.#applied.projectId;
    throw new GovError('FORBIDDEN', detail);
  }

  settings(): Partial<StoredSettings> {
    return this.#applied === null ? {} : { redactionKeys: [...this.#applied.redactionKeys] };
  }
}

/** In place of an append, where everything is as the bundle says already. */
const nothing = { outcome: 'stored', assigned: [], response: null, used: 0 } as const;

function countsOf({ added, changed, archived, unchanged, riskConfig }: Plan) {
  return { added, changed, archived, unchanged, riskConfig };
}

/** Of a plane with this configuration; `open` it before anything is served. */
export const heldConfig = (
  {
    dataDir,
    projectId,
    environment,
    config = {},
  }: Pick<PlaneConfigFile, 'dataDir' | 'projectId' | 'environment' | 'config'>,
  services: () => Services,
): HeldConfig =>
  new HeldConfig({
    dataDir,
    projectId,
    mode: config.policies ?? 'beside',
    trust: () => trustOf(dataDir, config, environment),
    services,
  });
