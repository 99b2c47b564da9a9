/** Units of sizes in bytes. */
export const KiB = 1024;
export const MiB = 1024 * KiB;
