/**
 * The parts that only a hosted service has: people, projects created at run time, a payment provider.
 * `src/host/service/hosting.ts` creates them. Proven by `test/host/service/hosting.test.ts`.
 */
import type { AuthConfiguration, Environment } from '../../contract/auth.ts';
import type { NoteSigner } from '../../core/note/signed.ts';
import type { LeafDraft } from '../../core/events/record.ts';
import type { Project } from '../../store/port/store.ts';
import type { Seal } from '../call/secrets.ts';
import type { Quotas } from '../call/settings.ts';

export interface HostParts {
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
   * within `limits.signInAgeSeconds`. `nonce`: the token must contain it.
   */
  verify(
    idToken: string,
    options: { readonly freshSignIn: boolean; readonly nonce?: string },
  ): Promise<VerifiedPerson>;
  readonly browsers: BrowserSignIn;
}

/** The authorization code flow with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636, RFC 9207). */
export interface BrowserSignIn {
  /** Where the provider returns to. Null: the console at the origin of the page that asks. */
  readonly redirectUri: string | null;
  /** The page of the provider. UNAVAILABLE where the provider does not answer. */
  begin(asked: SignInRequest): Promise<string>;
  /**
   * The ID token for what the provider sent back. An attacker controls every parameter. INVALID_CREDENTIAL for a code
   * that does not count, FORBIDDEN where the provider refuses, UNAVAILABLE where it does not answer.
   */
  finish(parameters: Readonly<Record<string, string>>, started: SignInSecrets): Promise<string>;
  /** Where a person ends the session at the provider itself. Null where it has no such page, or does not answer. */
  signOutUrl(): Promise<string | null>;
}

interface SignInRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** Base64url of the SHA-256 of the verifier. */
  readonly challenge: string;
}

/** What the browser's cookie keeps sealed until the provider returns. */
export interface SignInSecrets extends Omit<SignInRequest, 'challenge'> {
  readonly verifier: string;
}

export interface BillingPortal {
  /** The URL of a new session of the portal. UNAVAILABLE where the provider is unreachable. */
  open(customerId: string, returnUrl: string): Promise<string>;
}
