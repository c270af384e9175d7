/** Of the only account. */
export const apiKey = 'LIN6rqXuaJwMPfGYFh13qDwYz5VNNz1J2J6qIOWcd3oLQOq0WtD4CwRundBL6rzXToa3lQOC_vKjI3nkHtiD8Q';
export const secretKey = 'R6QPwRUz09TVXBjXNwZk7grTjcPtXFRqH6xhN1ixU7epv4yDUW1Cqy-MIhQC6xWzZ-5aGGyg2FqyuyBsvSxFTA';
