/** The project whose effect is being applied. */

/** The project whose effect is being applied. */
export interface Current {
  project: number;
}
