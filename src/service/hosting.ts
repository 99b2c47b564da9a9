/**
 * The parts that only a hosted service has: people, projects created at run time, a payment provider.
 * `src/host/process/hosting.ts` creates them. Proven by `test/host/process/hosting.test.ts`.
 */
import type { AuthConfiguration, Environment } from '../contract/auth.ts';
import type { NoteSigner } from '../core/note/signed.ts';
import type { LeafDraft } from '../core/event/record.ts';
import type { Project } from '../store/port/store.ts';
import type { Quotas } from './call/settings.ts';

export interface Hosting {
  /** Null where no identity provider is configured: then nobody can sign in or up. */
  readonly identity: IdentityProvider | null;
  /** Null where no payment provider is configured. */
  readonly portal: BillingPortal | null;
  readonly quotas: Readonly<Record<Environment, Quotas>>;
  /** After this time a person must sign in again, active or not. */
  readonly sessionHours: number;
  /** Which organizations have reports, and where the others find a plan with them. Absent: everybody has. */
  readonly reporting?: ReportingPlan;
  /** Hosts to which the billing portal may return. */
  readonly returnHosts: readonly string[];
  /**
   * A new project of an organization: its ids, the origins of its logs, and the genesis leaf with its keys.
   */
  makeProject(organizationId: string, environment: Environment): { project: Project; genesis: LeafDraft };
  /** Signs configurations of data planes. */
  readonly configSigner: NoteSigner;
  /**
   * AES-256-GCM under a key of the installation, for stored answers with secrets and for secrets of data
   * planes.
   */
  readonly seal: Seal;
  /** Cosigns checkpoints that data planes report (C2SP tlog-cosignature, Ed25519), under its own name. */
  readonly cosigner: NoteSigner;
}

export interface ReportingPlan {
  /** `customers`: organizations that the payment provider knows. */
  readonly isFor: 'everyone' | 'customers';
  readonly upgradeUrl: string | null;
}

export interface Seal {
  seal(text: string): string;
  /** Null for a text that this installation did not seal. */
  open(sealed: string): string | null;
}

/** The verified claims of an ID token. */
export interface VerifiedPerson {
  readonly issuer: string;
  readonly subject: string;
  /** Null unless verified. */
  readonly email: string | null;
  /** When the token expires. */
  readonly expiresMs: number;
}

export interface IdentityProvider {
  readonly configuration: AuthConfiguration;
  /**
   * INVALID_CREDENTIAL with the same text for every reason. `freshSignIn`: the person must have signed in
   * within `limits.signInAgeSeconds`.
   */
  verify(idToken: string, options: { readonly freshSignIn: boolean }): Promise<VerifiedPerson>;
}

export interface BillingPortal {
  /** The URL of a new session of the portal. OVERLOADED where the provider is unreachable. */
  open(customerId: string, returnUrl: string): Promise<string>;
}
