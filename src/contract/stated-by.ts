/**
 * The member that the service sets in the metadata of a balance, and of what a kernel saw: the id of the key, person or data
 * plane that recorded it.
 */
export const statedByMember = 'gov.statedBy';
