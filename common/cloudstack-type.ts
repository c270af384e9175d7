/** The instance type of a service offering, as the classic controller writes it: letters and digits alone. */
export function typeOfOffering(name: string): string | undefined {
  return name.replace(/[^A-Za-z0-9]/g, '').slice(0, 63) || undefined;
}
