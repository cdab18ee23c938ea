"""Control of machines whose slow and fast motions are apart."""
