/** What handlers ask of the work. */
export interface WebhookWork {
  /** Follows the log of a project that has an endpoint now. */
  follow(projectId: string): void;
  /** Looks for due messages now. */
  wake(): void;
}
