/** `good`: as it should be. `wait`: a person or a job has to act. `bad`: refused or broken. `plain`: no judgement. */
export type Tone = 'good' | 'wait' | 'bad' | 'plain';

/** A state as a word with a dot; the color only repeats the word. */
export const Status = ({ tone, children }: { readonly tone: Tone; readonly children: string }) => (
  <span class={`status ${tone}`}>{children}</span>
);
