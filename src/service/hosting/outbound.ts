/**
 * What services may send out of the process; `src/host/outbound/` implements it. Absent members are not configured.
 */
export interface Outbound {
  /**
   * Sends a POST to an address that a tenant gave. Refuses addresses inside our networks (contract N7). Never
   * throws for what the receiver does: `failed` says in words what happened.
   */
  post(request: OutboundPost): Promise<OutboundAnswer>;
  /** Why an address is refused whatever its name leads to; null where the name decides. */
  readonly refusal?: (url: string) => string | null;
  readonly mail?: (message: OutboundMail) => Promise<OutboundAnswer>;
  /** Writes a file below the configured directory, whole or not at all. */
  readonly file?: (name: string, bytes: AsyncIterable<Uint8Array>) => Promise<OutboundAnswer>;
}

export interface OutboundPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

export interface OutboundMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Makes a repeated message recognizable: the part of the Message-ID before the `@`. */
  readonly messageId: string;
  readonly attachments: readonly {
    readonly filename: string;
    readonly mediaType: string;
    readonly bytes: Uint8Array;
  }[];
}

export interface OutboundAnswer {
  readonly ok: boolean;
  /** HTTP status or SMTP reply code; null where none came. */
  readonly statusCode: number | null;
  readonly retryAfterMs: number | null;
  readonly durationMs: number;
  /** Null where it is ok. Holds no secret and no body of the receiver. */
  readonly failed: string | null;
  /** Whether a repetition is useless, such as for a refused address. */
  readonly isFinal: boolean;
}
