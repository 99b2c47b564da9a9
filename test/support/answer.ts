/** An HTTP answer as tests look at it. */

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly bytes: Buffer;
  /** The parsed body, null where it is no JSON. */
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any -- checked by schema just before
}
