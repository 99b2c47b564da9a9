/**
 * Facts from the words of a customer, by pattern alone. They are the weakest facts, because no model
 * understands the sentence. Policies that read them therefore ask a person (`escalate`) and never refuse by
 * themselves.
 */

/** A yes, in the languages of the recorded customers. */
const yes = /\b(yes|yep|yeah|oui|confirm(ed|ing)?|go ahead|proceed)\b/i;

const topics = {
  /** Health or weather: the reasons that travel insurance covers. */
  health:
    /\b(sick|ill|illness|unwell|health|medical|doctor|hospital|injur\w+|surgery|feeling (bad|under))\b/i,
  weather: /\b(weather|storm\w*|snow\w*|hurricane|fog|flood\w*)\b/i,
  airline_cancelled: /\b(flights?\b[^.!?]{0,60}\b(was|were|been|got)|airline( has)?) cancell?ed\b/i,
  delayed: /\bdelay(s|ed)?\b/i,
  compensation: /\b(compensat\w+|voucher|certificate|refund|make (this|it) (right|up)|gesture)\b/i,
} as const;

export const saysYes = (text: string): boolean => yes.test(text);

/** The topics of a text. */
export const topicsOf = (text: string): string[] =>
  Object.entries(topics).flatMap(([topic, words]) => (words.test(text) ? [topic] : []));
