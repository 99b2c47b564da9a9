/**
 * The configuration that a plane took from its service, and the checks that depend on it. Reads which version
 * is in force, refuses local changes that belong to the service, and takes another version (`take.ts`). A
 * configuration takes effect completely or not at all. A refused one changes nothing and becomes one event.
 * Proven by `test/plane/config/apply.test.ts`.
 */
import type {
  CaptureInForce,
  PlaneConfigResult,
  PlaneConfigSource,
  HeldPlaneConfig,
  PolicyMode,
} from '../../src/contract/plane-config.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import type { ContentCapture } from '../../src/contract/projects.ts';
import {
  PlaneConfigError,
  hashOfText,
  type PlaneConfigTrust,
  type OpenPlaneConfig,
} from '../../src/core/planes/config.ts';
import { systemRun } from '../../src/core/events/record.ts';
import { formatTimestamp, parseTimestamp } from '../../src/core/time.ts';
import { append } from '../../src/service/writes/append.ts';
import type { ApplyOptions, PlaneConfigService } from '../../src/service/hosting/plane-config.ts';
import type { Caller } from '../../src/service/call/caller.ts';
import type { DraftedChange } from '../../src/service/in-force/drafted-change.ts';
import type { Services } from '../../src/service/port/services.ts';
import type { StoredSettings } from '../../src/service/call/settings.ts';
import type { StoredPolicy } from '../../src/store/port/store.ts';
import type { PlaneConfig as PlaneConfigFile } from '../../src/host/data/config.ts';
import { captureInForce } from './content.ts';
import { ConfigCopy } from './copy.ts';
import { configAuthor } from './plan.ts';
import {
  appliedConfig,
  configRefused,
  shownRefusal,
  type AppliedConfig,
  type ConfigOrigin,
  type RefusedConfig,
} from './state.ts';
import { openText, putInForce, requireNewer } from './take.ts';
import { trustOf } from './trust.ts';

export interface ConfigOptions {
  readonly dataDir: string;
  /** The project of the plane, not of the service. */
  readonly projectId: string;
  readonly mode: PolicyMode;
  /** Null: without a limit. */
  readonly maxAgeSeconds: number | null;
  /** What `plane.json` says. */
  readonly contentCapture?: ContentCapture | undefined;
  /** The service whose configuration the plane takes. Null while the plane knows no service. */
  readonly trust: () => PlaneConfigTrust | null;
  readonly services: () => Services;
}

/** Who applies a configuration, and whether an older version is accepted too. */
interface ApplySource {
  readonly by: ConfigOrigin;
  readonly older: boolean;
}

/** The plane itself, which fetches from its service. */
export const theService: ApplySource = { by: { id: configAuthor, type: 'service' }, older: false };

export class HeldConfig implements PlaneConfigService {
  readonly #options: ConfigOptions;
  readonly copy: ConfigCopy;
  #applied: AppliedConfig | null = null;
  #refused: RefusedConfig | null = null;
  #copyIsWhole = true;
  /** When the service last said that the one in force is its newest. Lost at a restart: then the time of issue counts. */
  #agreedMs = 0;

  constructor(options: ConfigOptions) {
    this.#options = options;
    this.copy = new ConfigCopy(options.dataDir);
  }

  /** Loads the configuration in force. Call it before the plane serves. */
  async open(): Promise<void> {
    const { services, projectId } = this.#options;
    this.#applied = await appliedConfig(services().store, projectId);
    this.copy.recover(this.#applied?.bundleHash ?? null);
  }

  /** Checks whether the copy still has the hash of the configuration in force. */
  checkCopy(): void {
    const applied = this.#applied;
    this.#copyIsWhole = applied === null || this.copy.holds(applied.bundleHash);
  }

  get copyIsWhole(): boolean {
    return this.#copyIsWhole;
  }

  /** Applies the configuration in force again after `plane.json` chose another mode. */
  async settleMode(): Promise<void> {
    const applied = this.#applied;
    if (applied === null || this.mode === 'off' || applied.mode === this.mode) return;
    const text = this.copy.read(applied.bundleHash);
    if (text !== null) await this.take(text, applied.from, theService);
  }

  get mode(): PolicyMode {
    return this.#options.mode;
  }

  get applied(): AppliedConfig | null {
    return this.#applied;
  }

  /** The newest configuration of the service, where the plane refused it. Null where the plane took it. */
  get refused(): RefusedConfig | null {
    return this.#refused;
  }

  /** Records that the service returned the version in force. */
  agreed(): void {
    this.#refused = null;
    this.#agreedMs = this.#options.services().now();
  }

  /** Why the plane does not decide: its configuration is older than the limit of `plane.json`, or missing. */
  get expired(): string | null {
    const { maxAgeSeconds, mode, services } = this.#options;
    if (maxAgeSeconds === null || mode === 'off') return null;
    const applied = this.#applied;
    const expected = `expected a configuration of the service of the last ${maxAgeSeconds} s`;
    if (applied === null) return `${expected}, but this plane has none`;
    const knownMs = Math.max(this.#agreedMs, parseTimestamp(applied.issuedAt) ?? 0);
    // a version of the future has no age: one of the clocks was moved
    if (Math.abs(services().now() - knownMs) <= maxAgeSeconds * 1000) return null;
    return `${expected}, got version ${applied.bundleVersion}, last known to be the newest at ${formatTimestamp(knownMs)}`;
  }

  async held(): Promise<HeldPlaneConfig> {
    const { mode } = this.#options;
    const applied = this.#applied;
    if (applied === null) {
      const detail =
        'expected a configuration of a service, but this plane has none; enrol it, or apply one from a file';
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
      plane: { mode, appliedAt, from, refused, contentCapture: this.#capture() },
    };
  }

  apply(
    text: Uint8Array,
    { id, type }: Pick<Caller, 'id' | 'type'> | ConfigOrigin,
    { older = false }: ApplyOptions = {},
  ): Promise<PlaneConfigResult> {
    return this.take(text, 'file', { by: { id, type }, older });
  }

  /** Throws PlaneConfigError, and then nothing changed. OVERLOADED where policies keep changing meanwhile. */
  async take(
    text: Uint8Array,
    from: PlaneConfigSource,
    { by, older }: ApplySource,
  ): Promise<PlaneConfigResult> {
    const { services, projectId } = this.#options;
    try {
      const open = await openText(text, { mode: this.mode, trust: this.#options.trust() });
      const result = await services().runs.inTurn({ projectId, runId: systemRun }, () =>
        this.#takeOpen(open, { text, from, by, older }),
      );
      if (from === 'service') this.agreed();
      return result;
    } catch (error) {
      if (error instanceof PlaneConfigError) await this.#refuse(error, text, { from, by });
      throw error;
    }
  }

  /** Runs one at a time with all changes of policies. */
  async #takeOpen(
    open: OpenPlaneConfig,
    taking: ApplySource & { readonly text: Uint8Array; readonly from: PlaneConfigSource },
  ): Promise<PlaneConfigResult> {
    const { projectId, mode, services } = this.#options;
    const { copy } = this;
    const applied = this.#applied;
    if (!taking.older) requireNewer(applied, open);
    const target = { services: services(), projectId, mode, applied, copy };
    const { plan, isNew } = await putInForce(target, open, taking);
    if (isNew) await this.#settle();
    else if (!copy.holds(open.hash)) this.#renew(taking.text);
    const { added, changed, archived, unchanged, riskConfig } = plan;
    const counts = { added, changed, archived, unchanged, riskConfig, findings: open.findings };
    return { bundleVersion: open.bundle.bundleVersion, bundleHash: open.hash, applied: isNew, ...counts };
  }

  /** Runs after the append returned: the new configuration is in force, even if writing the copy fails. */
  async #settle(): Promise<void> {
    const { services: get, projectId } = this.#options;
    const services = get();
    this.#applied = await appliedConfig(services.store, projectId);
    // the new configuration may redact other fields
    services.forgetCredential(projectId);
    try {
      this.copy.settle();
    } catch (error) {
      services.log.error({ err: error }, 'could not write the copy of the configuration in force');
    }
    this.checkCopy();
  }

  /** Writes a lost copy again. */
  #renew(text: Uint8Array): void {
    this.copy.prepare(text);
    this.copy.settle();
    this.checkCopy();
  }

  async #refuse(
    { reason, message }: PlaneConfigError,
    text: Uint8Array,
    { from, by }: { from: PlaneConfigSource; by: ConfigOrigin },
  ): Promise<void> {
    const { services: get, projectId } = this.#options;
    const services = get();
    const nowMs = services.now();
    const bundleHash = hashOfText(text);
    const known = this.#refused?.bundleHash === bundleHash ? this.#refused.sinceMs : nowMs;
    if (from === 'service') this.#refused = { reason, detail: message, bundleHash, sinceMs: known };
    const context = { nowMs, salt: services.salt, by };
    services.log.warn({ reason, bundleHash, detail: message }, 'a configuration was refused');
    await append(services, {
      projectId,
      leaves: [configRefused({ reason, bundleHash }, context, this.#applied)],
      // one refused configuration is one event, whatever the reason of the next refusal
      fingerprints: new Map([[0, services.fingerprint(`gov.config.refused/1\n${bundleHash}`)]]),
    });
  }

  refusePolicyChange(policy: StoredPolicy, { to }: Pick<DraftedChange, 'to'>): void {
    const { mode } = this.#options;
    if (mode === 'off' || this.#applied === null) return;
    if (policy.createdBy === configAuthor) {
      const detail =
        `expected a policy of this plane, but ${policy.policyId} belongs to the configuration of ` +
        `${this.#applied.projectId}; change it at the service`;
      throw new GovError('FORBIDDEN', detail);
    }
    if (mode !== 'service' || to !== 'active') return;
    const detail =
      'expected a change at the service: plane.json has config.policies: service, so only its policies apply here';
    throw new GovError('FORBIDDEN', detail);
  }

  refuseRiskConfig(): void {
    if (this.mode === 'off' || this.#applied === null || this.#applied.riskConfigHash === null) return;
    const detail =
      'expected a change at the service: the risk router of this plane belongs to the configuration of ' +
      this.#applied.projectId;
    throw new GovError('FORBIDDEN', detail);
  }

  refuseExpired(): void {
    const { expired } = this;
    if (expired === null) return;
    const retryAfterSeconds = limits.configIntervalLeastSeconds;
    throw new GovError('CONFIG_EXPIRED', expired, { retryAfterSeconds });
  }

  settings(): Partial<StoredSettings> {
    if (this.#applied === null) return {};
    const redactionKeys = [...this.#applied.redactionKeys];
    return { redactionKeys, contentCapture: this.#capture().value };
  }

  #capture(): CaptureInForce {
    return captureInForce(this.#options.contentCapture, this.#applied?.contentCapture ?? undefined);
  }
}

/** Creates the configuration state of a plane. Call `open` before the plane serves. */
export const heldConfig = (
  {
    dataDir,
    projectId,
    environment,
    config = {},
    contentCapture,
  }: Pick<PlaneConfigFile, 'dataDir' | 'projectId' | 'environment' | 'config' | 'contentCapture'>,
  services: () => Services,
): HeldConfig =>
  new HeldConfig({
    dataDir,
    projectId,
    mode: config.policies ?? 'beside',
    maxAgeSeconds: config.maxAgeSeconds ?? null,
    contentCapture,
    trust: () => trustOf(dataDir, config, environment),
    services,
  });
