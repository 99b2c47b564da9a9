/** Limits: policies, risk, tools, approvals, replay. */
import { KiB } from './units.ts';

export const decisions = {
  policyIds: 1000,
  policyNameChars: 200,
  policyDescriptionChars: 2000,
  policyVersions: 10_000,
  policiesActive: 10_000,
  policiesListed: 200,
  decisionsListed: 1000,
  decisionsReasoned: 200,
  decisionsExplained: 50,
  reasonChars: 1000,
  reasoningChars: 512,
  sampleCheckpoints: 50,
  historyEvaluations: 10_000,
  impactExamples: 3,
  impactGroups: 100,
  checkpointBytes: 256 * KiB,
  snapshotChars: 256,
  riskItems: 200,
  riskDecisionChars: 64,
  signalChars: 128,
  toolNameChars: 128,
  toolArgumentsBytes: 32 * KiB,
  toolPolicyIds: 100,
  /** Commands of a shell line that its action lists. */
  actionCommands: 200,
  /** Characters of the arguments of these commands. */
  actionArgumentChars: 64 * KiB,
  /** Folders that a command may run in. */
  actionFolders: 8,
  actionPaths: 1000,
  actionPathChars: 4096,
  /** `..` in one path. */
  actionPathSteps: 64,
  actionHosts: 200,
  /** Larger contents of files and prompts are sent by their hash. */
  toolContentBytes: 8 * KiB,
  factLinks: 200,
  factRemotes: 50,
  factHostChars: 300,
  toolDecisionSeconds: 60,
  toolDecisionSlackSeconds: 30,
  approvalHours: 24,
  /** A proxy joins the permission of a hook for the same call: with the id of the call, and without one. */
  joinMinutes: 10,
  joinSeconds: 60,
  /** Permissions of one call that wait to be joined. */
  joinsHeld: 16,
  /** Bytes of JSON of a call that the console and the inbox show beside the button that approves it. */
  /** `hold.seconds` of a plane: how long a hook waits for a person. */
  holdMostSeconds: 600,
  /** One request that waits for an approval. */
  holdWaitSeconds: 20,
  /** Requests of one process that wait at once, and the shortest time between two looks of one. */
  heldRequests: 256,
  holdLookMs: 500,
  approvalShownBytes: 64 * KiB,
  approvers: 1000,
  approverNameChars: 200,
  changeSignatureMinutes: 5,
  approverRecoveredDays: 30,
  phraseWords: 4,
  phraseChars: 12,
  phraseAttempts: 3,
  approverOriginChars: 253,
  approverChallengeMinutes: 10,
  sshPublicKeyChars: 8 * KiB,
  sshSignatureChars: 8 * KiB,
  passkeyIdBytes: 1023,
  passkeyKeyBytes: 2 * KiB,
  passkeyClientDataBytes: 4 * KiB,
  passkeyAuthenticatorBytes: 4 * KiB,
  passkeySignatureBytes: 2 * KiB,
  replaySteps: 200_000,
  statedPolicySets: 100,
  statedApprovals: 100,
} as const;
