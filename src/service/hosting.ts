/**
 * What a hosted service has and a plane has not: people, projects that are made while it runs, a payment provider.
 * `src/host/process/hosting.ts` puts it together.
 */
import type { AuthConfiguration, Environment } from '../contract/auth.ts';
import type { NoteSigner } from '../core/note/signed.ts';
import type { LeafDraft } from '../core/event/record.ts';
import type { Project } from '../store/port/store.ts';
import type { Quotas } from './call/settings.ts';

export interface Hosting {
  /** Null where no identity provider is configured: nobody can sign in or up then. */
  readonly identity: IdentityProvider | null;
  /** Null where no payment provider is configured. */
  readonly portal: BillingPortal | null;
  readonly quotas: Readonly<Record<Environment, Quotas>>;
  /** After which a person signs in again, whatever happens. */
  readonly sessionHours: number;
  /** Hosts that the portal may lead back to. */
  readonly returnHosts: readonly string[];
  /** A new project of an organization: its ids, the origins of its logs, and its genesis leaf with the keys. */
  makeProject(organizationId: string, environment: Environment): { project: Project; genesis: LeafDraft };
  /** Signs configurations of data planes. */
  readonly configSigner: NoteSigner;
  /** AES-256-GCM under a key of the installation, for kept answers that show a secret, and secrets of data planes. */
  readonly seal: Seal;
  /** Cosigns checkpoints that data planes report (C2SP tlog-cosignature, Ed25519), under a name of its own. */
  readonly cosigner: NoteSigner;
}

export interface Seal {
  seal(text: string): string;
  /** Null for what was not sealed here. */
  open(sealed: string): string | null;
}

/** What a verified ID token says. */
export interface VerifiedPerson {
  readonly issuer: string;
  readonly subject: string;
  /** Null unless verified. */
  readonly email: string | null;
  /** Until when the token is accepted. */
  readonly expiresMs: number;
}

export interface IdentityProvider {
  readonly configuration: AuthConfiguration;
  /**
   * INVALID_CREDENTIAL, one text for all faults. `freshSignIn`: the person must have signed in within
   * `limits.signInAgeSeconds`.
   */
  verify(idToken: string, options: { readonly freshSignIn: boolean }): Promise<VerifiedPerson>;
}

export interface BillingPortal {
  /** URL of a session of the portal. OVERLOADED where the provider cannot be reached. */
  open(customerId: string, returnUrl: string): Promise<string>;
}
