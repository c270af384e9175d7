/**
 * The same UUID with its first three groups in the other byte order. SMBIOS 2.6 stores them little-endian and older firmware did not, so what a guest prints and
 * what its hypervisor prints of one machine may differ by this. Pure; its own inverse.
 */
export function swapped(uuid: string): string {
  const [a = '', b = '', c = '', ...rest] = uuid.split('-');
  return [reversedBytes(a), reversedBytes(b), reversedBytes(c), ...rest].join('-');
}

function reversedBytes(hex: string): string {
  return (hex.match(/../g) ?? []).reverse().join('');
}
