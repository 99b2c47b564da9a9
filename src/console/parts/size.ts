/** `1.4 MiB`; a dash for no size. */
export function sizeText(bytes: number | null): string {
  if (bytes === null) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let [value, at] = [bytes, 0];
  for (; value >= 1024 && at < units.length - 1; at += 1) value /= 1024;
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}
