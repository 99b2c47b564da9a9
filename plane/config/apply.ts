/**
 * The configuration that a plane holds of its service: which one is in force, what it takes from the plane's own hands,
 * and the taking of another one (`take.ts`), whole or not at all. What is refused changes nothing, and is an event
 * once. Proven by `test/plane/config/apply.test.ts`.
 */
import type {
  PlaneConfigApplied,
  PlaneConfigSource,
  HeldPlaneConfig,
  PolicyMode,
} from '../../src/contract/plane-config.ts';
import { GovError } from '../../src/contract/problems.ts';
import {
  PlaneConfigRefused,
  hashOfText,
  type PlaneConfigTrust,
  type OpenPlaneConfig,
} from '../../src/core/plane/config.ts';
import { systemRun } from '../../src/core/event/record.ts';
import { append, unmetered } from '../../src/service/events/append.ts';
import type { ApplyOptions, PlaneConfig } from '../../src/service/planes/applied-config.ts';
import type { Caller } from '../../src/service/call/caller.ts';
import type { DraftedChange } from '../../src/service/policies/drafted-change.ts';
import type { Services } from '../../src/service/dependencies.ts';
import type { StoredSettings } from '../../src/service/call/settings.ts';
import type { StoredPolicy } from '../../src/store/port/store.ts';
import type { PlaneConfig as PlaneConfigFile } from '../../src/host/data/config.ts';
import { ConfigCopy } from './copy.ts';
import { bundleAuthor } from './plan.ts';
import {
  appliedBundle,
  configRefused,
  shownRefusal,
  type AppliedBundle,
  type By,
  type RefusedBundle,
} from './state.ts';
import { openText, putInForce, requireNewer } from './take.ts';
import { trustOf } from './trust.ts';

export interface ConfigOptions {
  readonly dataDir: string;
  /** The plane's own project. */
  readonly projectId: string;
  readonly mode: PolicyMode;
  /** Whose configuration is taken; null where the plane was told of no service yet. */
  readonly trust: () => PlaneConfigTrust | null;
  readonly services: () => Services;
}

/** For whom a configuration is taken, and whether one that is not after the one in force is taken too. */
interface Taking {
  readonly by: By;
  readonly older: boolean;
}

/** The plane itself, which asks its service. */
export const theService: Taking = { by: { id: bundleAuthor, type: 'service' }, older: false };

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

  async held(): Promise<HeldPlaneConfig> {
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
  ): Promise<PlaneConfigApplied> {
    return this.take(text, 'file', { by: { id, type }, older });
  }

  /** PlaneConfigRefused, and then nothing changed. OVERLOADED where policies keep changing meanwhile. */
  async take(text: Uint8Array, from: PlaneConfigSource, { by, older }: Taking): Promise<PlaneConfigApplied> {
    const { services, projectId } = this.#options;
    try {
      const open = await openText(text, { mode: this.mode, trust: this.#options.trust() });
      const result = await services().runs.inTurn({ projectId, runId: systemRun }, () =>
        this.#takeOpen(open, { text, from, by, older }),
      );
      if (from === 'service') this.#refused = null;
      return result;
    } catch (error) {
      if (error instanceof PlaneConfigRefused) await this.#refuse(error, text, { from, by });
      throw error;
    }
  }

  /** In turn with all changes of policies. */
  async #takeOpen(
    open: OpenPlaneConfig,
    taking: Taking & { readonly text: Uint8Array; readonly from: PlaneConfigSource },
  ): Promise<PlaneConfigApplied> {
    const { projectId, mode, services } = this.#options;
    const { copy } = this;
    const applied = this.#applied;
    if (!taking.older) requireNewer(applied, open);
    const place = { services: services(), projectId, mode, applied, copy };
    const { plan, isNew } = await putInForce(place, open, taking);
    if (isNew) await this.#settle();
    else if (!copy.holds(open.hash)) this.#renew(taking.text);
    const { added, changed, archived, unchanged, riskConfig } = plan;
    const counts = { added, changed, archived, unchanged, riskConfig, findings: open.findings };
    return { bundleVersion: open.bundle.bundleVersion, bundleHash: open.hash, applied: isNew, ...counts };
  }

  /** The append returned: what is in force is the new one, whatever becomes of the copy. */
  async #settle(): Promise<void> {
    const { services: get, projectId } = this.#options;
    const services = get();
    this.#applied = await appliedBundle(services.store, projectId);
    // what is redacted may be another thing from now on
    services.forgetCredential(projectId);
    try {
      this.copy.settle();
    } catch (error) {
      services.log.error({ err: error }, 'the copy of the configuration in force could not be kept');
    }
    this.checkCopy();
  }

  /** The copy was lost. */
  #renew(text: Uint8Array): void {
    this.copy.prepare(text);
    this.copy.settle();
    this.checkCopy();
  }

  async #refuse(
    { reason, message }: PlaneConfigRefused,
    text: Uint8Array,
    { from, by }: { from: PlaneConfigSource; by: By },
  ): Promise<void> {
    const { services: get, projectId } = this.#options;
    const services = get();
    const nowMs = services.now();
    const bundleHash = hashOfText(text);
    const known = this.#refused?.bundleHash === bundleHash ? this.#refused.sinceMs : nowMs;
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

  refusePolicyChange(policy: StoredPolicy, { to }: Pick<DraftedChange, 'to'>): void {
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
