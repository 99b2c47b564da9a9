/** `good`: as it should be. `wait`: a person or a job has to act. `bad`: refused or broken. `plain`: no judgement. */
export type Tone = 'good' | 'wait' | 'bad' | 'plain';

const tones: ReadonlyMap<string, Tone> = new Map([
  ['allow', 'good'],
  ['allowed', 'good'],
  ['approved', 'good'],
  ['completed', 'good'],
  ['active', 'good'],
  ['delivered', 'good'],
  ['warn', 'wait'],
  ['escalate', 'wait'],
  ['pending', 'wait'],
  ['processing', 'wait'],
  ['queued', 'wait'],
  ['review', 'wait'],
  ['deny', 'bad'],
  ['denied', 'bad'],
  ['failed', 'bad'],
  ['error', 'bad'],
  ['refused', 'bad'],
  ['timed_out', 'bad'],
  ['interrupted', 'bad'],
  ['unanswered', 'bad'],
  ['revoked', 'bad'],
]);

/** The tone of a state of the API; plain for a word that is not known. */
export const toneOf = (state: string): Tone => tones.get(state) ?? 'plain';

interface StatusProps {
  /** Default: the tone of the word. */
  readonly tone?: Tone;
  readonly children: string;
}

/** A state as a word with a dot; the color only repeats the word. */
export const Status = ({ children, tone = toneOf(children) }: StatusProps) => (
  <span class={`status ${tone}`}>{children}</span>
);
